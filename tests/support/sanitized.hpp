// Whether the build has a sanitizer. A sanitizer makes code many times slower, so such builds
// shorten the long searches for wrong results.
#pragma once

namespace pipesim::testing {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define PIPESIM_SANITIZED
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define PIPESIM_SANITIZED
#endif

#ifdef PIPESIM_SANITIZED
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

#undef PIPESIM_SANITIZED

}  // namespace pipesim::testing
