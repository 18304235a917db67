/* Floating point as written. A multiply fused with the add after it rounds once instead of twice, and whether a
 * compiler fuses depends on compiler and platform; but results here must be equal to the bit everywhere. clang obeys
 * the pragma, gcc does the same from -std=c11 on its own (not from -std=gnu11). */
#pragma once

#if defined(__FAST_MATH__)
#error "the kernel is not to be built with -ffast-math"
#elif defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__STRICT_ANSI__)
#error "build with -std=c11"
#endif
