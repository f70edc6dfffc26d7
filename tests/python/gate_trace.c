/*
 * Takes a trace in the form of SPC through a gate, on a thread for each of its units, and checks all
 * bytes. Each unit has a region of its own in the file; its thread knows what must be there. The last
 * thread submits its requests and waits for the eventfd, the others wait in the calls.
 *
 *     gate_trace OPTIONS TRACE THREADS REGION
 */
#include <penstock_gate.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS_MOST 64
#define SYNC_EVERY 200

struct request {
  unsigned unit;
  size_t at, len;
  char op;
};

static pg_gate *gate;
static struct request *requests;
static size_t count, region;
static unsigned threads;

static void fail(const char *what, size_t number) {
  char text[1024];
  pg_error(gate, text, sizeof text, NULL);
  fprintf(stderr, "request %zu: %s: %s\n", number, what, text);
  exit(1);
}

static void transfer(const struct request *request, size_t number, int waits, char *data) {
  uint64_t offset = request->unit * region + request->at;
  int write = request->op == 'w';
  if (waits) {
    if (write ? pg_write(gate, NULL, 0, offset, data, request->len, 0) != 0
              : pg_read(gate, NULL, 0, offset, data, request->len) != (ssize_t)request->len)
      fail("a call", number);
    return;
  }
  if (write ? pg_submit_write(gate, NULL, 0, offset, data, request->len, 0, number)
            : pg_submit_read(gate, NULL, 0, offset, data, request->len, number))
    fail("submission", number);
  struct pollfd event = {.fd = pg_event_fd(gate), .events = POLLIN};
  pg_done done;
  int taken;
  while ((taken = pg_poll(gate, &done, 1)) == 0)
    if (poll(&event, 1, -1) != 1) fail("poll", number);
  if (taken != 1 || done.token != number || done.error || done.bytes != request->len)
    fail("completion", number);
}

static void *work(void *argument) {
  unsigned unit = (unsigned)(size_t)argument;
  int waits = unit + 1 < threads;
  char *expected = calloc(1, region), *data = malloc(region);
  for (size_t number = 0, mine = 0; number < count; number++) {
    const struct request *request = &requests[number];
    if (request->unit != unit) continue;
    if (request->op == 'w') {
      for (size_t i = 0; i < request->len; i++) data[i] = (char)(number * 31 + i * 7);
      memcpy(expected + request->at, data, request->len);
    } else {
      memset(data, 0xaa, request->len);
    }
    transfer(request, number, waits, data);
    if (request->op == 'r' && memcmp(data, expected + request->at, request->len))
      fail("other bytes", number);
    if (++mine % SYNC_EVERY == 0 && pg_sync(gate, NULL, 0)) fail("sync", number);
  }
  if (pg_read(gate, NULL, 0, unit * region, data, region) != (ssize_t)region ||
      memcmp(data, expected, region))
    fail("other bytes in the end", count);
  free(expected);
  free(data);
  return NULL;
}

int main(int argc, char **argv) {
  char message[1024];
  pthread_t ids[THREADS_MOST];
  if (argc != 5 || (threads = (unsigned)atoi(argv[3])) > THREADS_MOST) return 2;
  region = (size_t)atol(argv[4]);
  FILE *trace = fopen(argv[2], "r");
  struct request r;
  unsigned long long block;
  size_t room = 0;
  while (trace && fscanf(trace, "%u,%llu,%zu,%c,%*f\n", &r.unit, &block, &r.len, &r.op) == 4) {
    r.at = block * 512;
    if (r.unit >= threads || r.at + r.len > region) return 2;
    if (count == room) requests = realloc(requests, (room = 2 * room + 1024) * sizeof r);
    requests[count++] = r;
  }
  if (!trace || fclose(trace)) return 2;
  gate = pg_open(argv[1], message, sizeof message);
  if (!gate) return fprintf(stderr, "%s\n", message), 1;
  for (size_t unit = 0; unit < threads; unit++)
    if (pthread_create(&ids[unit], NULL, work, (void *)unit)) return 1;
  for (size_t unit = 0; unit < threads; unit++) pthread_join(ids[unit], NULL);
  char *stats = pg_stats(gate);
  printf("%s\n", stats);
  free(stats);
  pg_close(gate);
  free(requests);
  return 0;
}
