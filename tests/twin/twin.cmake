# The second implementation of docs/reference/rules.md, which shares no code with the engine, and the random
# plans: for all tests that compare the two.
include_guard(GLOBAL)
add_library(
  twin STATIC
  "${CMAKE_CURRENT_LIST_DIR}/from_plan.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/machine.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/machine_calls.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/machine_faults.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/machine_meetings.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/machine_steps.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/random_afters.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/random_faults.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/random_program.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/random_spec.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/spec.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/to_plan.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/twin.cpp"
  "${CMAKE_CURRENT_LIST_DIR}/waits.cpp")
target_include_directories(twin PUBLIC "${PROJECT_SOURCE_DIR}")
target_link_libraries(twin PUBLIC pipesim::sim)
pipesim_use_flags(twin)

# Every interleaving of small plans by the same rules, and such plans.
add_library(orders STATIC "${CMAKE_CURRENT_LIST_DIR}/../orders/orders.cpp"
                          "${CMAKE_CURRENT_LIST_DIR}/../orders/small_spec.cpp")
target_link_libraries(orders PUBLIC twin)
pipesim_use_flags(orders)
