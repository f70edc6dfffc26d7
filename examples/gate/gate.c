/*
 * Short durable writes of tellers while a batch write of 4 MiB goes on, through one gate.
 *
 *     make capi
 *     export PKG_CONFIG_PATH=$PWD/target/capi/lib/pkgconfig LD_LIBRARY_PATH=$PWD/target/capi/lib
 *     cc examples/gate/gate.c $(pkg-config --cflags --libs penstock_gate) -o gate
 *     ./gate ledger.img
 */
#include <errno.h>
#include <penstock_gate.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char text[1024];

/* Ends the program with the last error of the gate. */
static void fail(pg_gate *gate) {
  pg_error(gate, text, sizeof text, NULL);
  fprintf(stderr, "%s\n", text);
  exit(1);
}

int main(int argc, char **argv) {
  char options[1024], record[64], copy[64];
  snprintf(options, sizeof options,
           "path = '%s'\ncreate = '16MiB'\nparameters = { split = '64KiB' }\n"
           "[class.tellers]\n[class.batch]\n",
           argc > 1 ? argv[1] : "ledger.img");
  pg_gate *gate = pg_open(options, text, sizeof text);
  if (!gate) {
    fprintf(stderr, "%s\n", text);
    return 1;
  }

  /* The batch: it is submitted, and its data copied, before the call returns. */
  char *bulk = calloc(1, PG_SUBMIT_MAX);
  if (!bulk || pg_submit_write(gate, "batch", 0, 8 << 20, bulk, PG_SUBMIT_MAX, 0, 1)) fail(gate);
  free(bulk);

  /* Meanwhile the tellers: each write is on stable media when the call returns. */
  for (int n = 0; n < 100; n++) {
    snprintf(record, sizeof record, "transfer %d", n);
    if (pg_write(gate, "tellers", 0, 1000 + 64 * n, record, sizeof record, PG_SYNC)) fail(gate);
  }
  if (pg_read(gate, "tellers", 0, 1000 + 64 * 99, copy, sizeof copy) != sizeof copy) fail(gate);
  printf("read back: %s\n", copy);

  /* The end of the batch. */
  struct pollfd event = {.fd = pg_event_fd(gate), .events = POLLIN};
  pg_done done;
  while (pg_poll(gate, &done, 1) == 0) poll(&event, 1, -1);
  if (done.error) fail(gate);
  printf("batch: %llu bytes\n", (unsigned long long)done.bytes);

  /* An error has a number and a text. */
  if (pg_write(gate, "tellrs", 0, 0, "x", 1, 0) == -1) {
    int number = errno;
    pg_error(gate, text, sizeof text, NULL);
    printf("%s: %s\n", number == EINVAL ? "EINVAL" : strerror(number), text);
  }
  char *stats = pg_stats(gate);
  if (!stats) fail(gate);
  printf("%s\n", stats);
  free(stats);
  pg_close(gate);
  return 0;
}
