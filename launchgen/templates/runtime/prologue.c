#if !defined(__linux__) || !(defined(__x86_64__) || defined(__aarch64__))
#error "this launcher runs on Linux, on x86-64 and aarch64"
#endif

#ifdef __cplusplus
#define LG_STATIC_ASSERT(condition, text) static_assert(condition, text)
#define LG_THREAD_LOCAL thread_local
#define LG_ALIGNAS(bytes) alignas(bytes)
#else
#define LG_STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#define LG_THREAD_LOCAL _Thread_local
#define LG_ALIGNAS(bytes) _Alignas(bytes)
#endif

#define LG_UNLIKELY(condition) __builtin_expect(!!(condition), 0)

/* Failures and first use. gcc takes a third less time for the whole file where it need not
 * optimise these; define LG_COLD yourself to have it otherwise. */
#ifndef LG_COLD
#if defined(__GNUC__) && !defined(__clang__)
#define LG_COLD __attribute__((cold, noinline, optimize("O0")))
#else
#define LG_COLD __attribute__((cold, noinline))
#endif
#endif

LG_STATIC_ASSERT(sizeof(void *) == 8, "addresses fill 8-byte slots");
