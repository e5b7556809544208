# The second implementation of docs/reference/rules.md, which shares no code with the engine, and the random
# plans: for all tests that compare the two.
include_guard(GLOBAL)
file(GLOB twin_sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_LIST_DIR}/*.cpp")
list(FILTER twin_sources EXCLUDE REGEX "_test\\.cpp$")
add_library(twin STATIC ${twin_sources})
target_include_directories(twin PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(twin PUBLIC pipesim::sim)
pipesim_use_flags(twin)

# Every interleaving of small plans by the same rules, and such plans.
add_library(orders STATIC "${CMAKE_CURRENT_LIST_DIR}/../orders/orders.cpp"
                          "${CMAKE_CURRENT_LIST_DIR}/../orders/small_spec.cpp")
target_link_libraries(orders PUBLIC twin)
pipesim_use_flags(orders)
