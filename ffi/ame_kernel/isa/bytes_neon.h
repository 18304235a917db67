/* Bytes of lines in NEON: isa/lines.h has what they are for. */
#pragma once

#include "isa/i4.h"

#include <arm_neon.h>

typedef int32x4_t counts;
typedef uint8x16_t bytes;
#define LINE_PARTS 4

ISA_INLINE bytes take(const uint8_t *x) { return vld1q_u8(x); }
ISA_INLINE void interleave(const bytes x[4], bytes out[4]) {
  uint16x8_t a = vreinterpretq_u16_u8(vzip1q_u8(x[0], x[1])), b = vreinterpretq_u16_u8(vzip1q_u8(x[2], x[3]));
  uint16x8_t c = vreinterpretq_u16_u8(vzip2q_u8(x[0], x[1])), d = vreinterpretq_u16_u8(vzip2q_u8(x[2], x[3]));
  out[0] = vreinterpretq_u8_u16(vzip1q_u16(a, b));
  out[1] = vreinterpretq_u8_u16(vzip2q_u16(a, b));
  out[2] = vreinterpretq_u8_u16(vzip1q_u16(c, d));
  out[3] = vreinterpretq_u8_u16(vzip2q_u16(c, d));
}
ISA_INLINE bytes low_four(bytes x) { return vandq_u8(x, vdupq_n_u8(15)); }
ISA_INLINE bytes high_four(bytes x) { return vshrq_n_u8(x, 4); }
ISA_INLINE int32_t line_start(const ame_line_query *q) {
  (void)q;
  return 0;
}
ISA_INLINE counts times4(counts acc, bytes x, int32_t quad) {
  int8x16_t a = vreinterpretq_s8_u8(x), q = vreinterpretq_s8_s32(vdupq_n_s32(quad));
#if defined(__ARM_FEATURE_DOTPROD)
  return vdotq_s32(acc, a, q);
#else
  int32x4_t low = vpaddlq_s16(vmull_s8(vget_low_s8(a), vget_low_s8(q))), high = vpaddlq_s16(vmull_high_s8(a, q));
  return vaddq_s32(acc, vpaddq_s32(low, high));
#endif
}
ISA_INLINE counts times8(counts acc, bytes x, int32_t quad) {
  return times4(acc, veorq_u8(x, vdupq_n_u8(0x80)), quad); /* the codes themselves */
}
ISA_INLINE void put_counts(int32_t *out, counts x) { vst1q_s32(out, x); }
ISA_INLINE counts every(int32_t x) { return vdupq_n_s32(x); }
ISA_INLINE counts take_counts(const int32_t *x) { return vld1q_s32(x); }
ISA_INLINE counts more_counts(counts x, const int32_t *from) { return vaddq_s32(x, take_counts(from)); }
