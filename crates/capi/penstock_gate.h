/*
 * A gate: a scheduling policy in front of the reads and writes of a program.
 *
 * Short requests go first, and long ones go in pieces; other policies go by class. Any thread of the
 * process that opened a gate may use it at any time. Only the named bytes change, wherever they begin
 * and end. Concurrent requests have no order, and a long write is not atomic against short ones.
 *
 * A call that fails returns -1 or NULL and sets errno; pg_error() has the text:
 *
 *   EINVAL      wrong options, class, range, flags or pointer
 *   ENOENT      the gate has no file with this number, or only a model, which keeps no data
 *   EBUSY       a file that another process uses, or that holds the data of others
 *   EOPNOTSUPP  this machine lacks what the options need; or another process opened the gate, as
 *               before a fork: a child opens a gate of its own
 *   ESHUTDOWN   the gate is shut down
 *   EAGAIN      too many submitted requests are in flight: take completions first
 *   ETIMEDOUT   the disk did not answer within the time-out of the options, which ends the gate
 *   ENOMEM      no memory for a read
 *   EIO, other  the error of the disk
 *
 * Link with `pkg-config --cflags --libs penstock_gate`. Linux only.
 */
#ifndef PENSTOCK_GATE_H
#define PENSTOCK_GATE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* An open gate. */
typedef struct pg_gate pg_gate;

/* A completed request. */
typedef struct pg_done {
  uint64_t token; /* as it was submitted */
  uint64_t bytes; /* bytes read or written; after an error those from the first on that are certain */
  int error;      /* 0, or the number of the error; pg_error() has the text */
} pg_done;

/* A flag of writes: the data is on stable media when the write is done. */
#define PG_SYNC 1

/* Most bytes of a submitted request. Calls that wait have no limit. */
#define PG_SUBMIT_MAX 4194304

/* Returns the version of the library, such as "0.1.0". */
const char *pg_version(void);

/*
 * Opens a gate by its options, a text in TOML such as `path = "ledger.img"`. On failure it returns NULL
 * and writes the message to `message`, which has `size` bytes; it may be NULL.
 */
pg_gate *pg_open(const char *options, char *message, size_t size);

/*
 * Carries out earlier requests, ends, and releases the files. Calls of other threads that come later
 * fail with ESHUTDOWN. Completions can still be taken, and the statistics be read.
 */
int pg_shutdown(pg_gate *gate);

/*
 * Shuts the gate down and frees it; NULL is ignored. No thread may use it any more. Completions that
 * were not taken are dropped. In a child of the process that opened it only memory is freed.
 */
void pg_close(pg_gate *gate);

/*
 * Reads up to `len` bytes at `offset` of the path numbered `file` (from 0 on, as in the options), and
 * returns how many there were. `class_name` is a class of the options; NULL if they have none.
 */
ssize_t pg_read(pg_gate *gate, const char *class_name, uint32_t file, uint64_t offset, void *buffer,
                size_t len);

/* Writes `len` bytes at `offset`; returns 0 when all are written. `flags` is 0 or PG_SYNC. */
int pg_write(pg_gate *gate, const char *class_name, uint32_t file, uint64_t offset, const void *data,
             size_t len, int flags);

/* Flushes completed writes to stable media. */
int pg_sync(pg_gate *gate, const char *class_name, uint32_t file);

/*
 * Submit a request without waiting for it. `token` comes back with its completion. A read's buffer must
 * stay until pg_poll() has returned its completion, which fills it; data to write is copied at once.
 */
int pg_submit_read(pg_gate *gate, const char *class_name, uint32_t file, uint64_t offset, void *buffer,
                   size_t len, uint64_t token);
int pg_submit_write(pg_gate *gate, const char *class_name, uint32_t file, uint64_t offset,
                    const void *data, size_t len, int flags, uint64_t token);
int pg_submit_sync(pg_gate *gate, const char *class_name, uint32_t file, uint64_t token);

/* Takes up to `most` completions without waiting; returns how many, which may be 0. */
int pg_poll(pg_gate *gate, pg_done *done, int most);

/*
 * Returns an eventfd of the gate, which is readable while there are completions, for poll() and epoll.
 * It is not to be read, and pg_close() closes it.
 */
int pg_event_fd(pg_gate *gate);

/* Returns the statistics so far as JSON, which the caller frees with free(). */
char *pg_stats(pg_gate *gate);

/*
 * Returns the number of the last error that this thread got from the gate, 0 for none, and writes its
 * text to `text`, which has `size` bytes. `done` gets the number of bytes, from the first on, that are
 * certainly read or written. Both may be NULL.
 */
int pg_error(pg_gate *gate, char *text, size_t size, uint64_t *done);

#ifdef __cplusplus
}
#endif

#endif
