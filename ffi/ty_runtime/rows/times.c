#include "rows/times.h"

#include "os/fail.h"

uint8_t ty_time_bytes(uint64_t value) {
  uint8_t bytes = 0;
  for (; value > 0; value >>= 8) bytes++;
  return bytes;
}

bool ty_times_open(ty_slice bytes, uint64_t rows, ty_packed_times *out) {
  const ty_times_head *head = (const ty_times_head *)(const void *)bytes.data;
  uint64_t want;
  if (bytes.bytes < sizeof *head || head->first > TY_TIME_MAX || head->created_bytes > TY_TIME_BYTES ||
      head->later_bytes > TY_TIME_BYTES || !ty_all_zero(head->reserved, sizeof head->reserved))
    return false;
  if (!ty_mul(rows, (uint64_t)head->created_bytes + head->later_bytes, &want) || bytes.bytes - sizeof *head != want)
    return false;
  const uint8_t *created = bytes.data + sizeof *head;
  *out = (ty_packed_times){.first = head->first,
                           .created = created,
                           .later = created + rows * head->created_bytes,
                           .created_bytes = head->created_bytes,
                           .later_bytes = head->later_bytes};
  return true;
}

static uint64_t read_number(const uint8_t *from, uint8_t bytes) {
  uint64_t value = 0;
  for (uint8_t i = 0; i < bytes; i++) value |= (uint64_t)from[i] << 8 * i;
  return value;
}

/* The sums of an untrusted file may be beyond the bound, which no row of ours is. */
static uint64_t bounded(uint64_t time) { return time < TY_TIME_MAX ? time : TY_TIME_MAX; }

ty_times ty_times_at(const ty_packed_times *p, uint64_t at) {
  uint64_t created = bounded(p->first + read_number(p->created + at * p->created_bytes, p->created_bytes));
  return (ty_times){created, bounded(created + read_number(p->later + at * p->later_bytes, p->later_bytes))};
}
