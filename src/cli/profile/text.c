/* SPDX-License-Identifier: MIT */
/* The profile as text: a line for each lock, then its waiters and holders. */
#define _GNU_SOURCE
#include "cli/profile/profile.h"

#include <string.h>
#include <unistd.h>

enum { ROWS = 10, PAIRS = 3, FRAMES = 8, COLUMN = 46 };

static const char *const kinds[PROFILE_KINDS] = {
	[PROFILE_MUTEX] = "mutex",
	[PROFILE_SPIN] = "spin lock",
	[PROFILE_READ] = "read-write lock",
	[PROFILE_WRITE] = "read-write lock",
	[PROFILE_COND] = "condition variable",
};

const char *kind_name(enum profile_kind kind)
{
	return kind < PROFILE_KINDS && kinds[kind] != NULL ? kinds[kind] : "lock";
}

/* Three digits and a unit. */
static const char *time_text(double ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "us"}, {1, "ns"}};
	size_t i = 0;
	double value;

	while (i < 3 && ns < units[i].ns)
		i++;
	value = ns / units[i].ns;
	return text_of("%.*f %s",
		       value < 10    ? 2
		       : value < 100 ? 1
				     : 0,
		       value, units[i].unit);
}

static void print_row(FILE *to, size_t number, const struct row *row)
{
	bool lock = row->kind != PROFILE_COND;

	fprintf(to, "%3zu %9s %9s %10.0f ", number, time_text(row->wait_ns),
		time_text(row->longest_ns), row->waits);
	if (lock)
		fprintf(to, "%7.2f %% %9s %9s  ", 100 * row->waits / row->acquisitions,
			row->holds > 0 ? time_text(row->hold_ns / row->holds) : "-",
			row->holds > 0 ? time_text(row->hold_longest_ns) : "-");
	else
		fprintf(to, " ");
	if (row->locks > 1)
		fprintf(to, "%ju ", (uintmax_t)row->locks);
	fprintf(to, "%s", row->name);
	if (row->kind != PROFILE_MUTEX && lock)
		fprintf(to, ", %s", kind_name(row->kind));
	fprintf(to, "\n");
}

static const char *cell(const struct stack *stack, size_t i, const char *missing)
{
	if (i < stack->count && i < FRAMES)
		return frame_text(stack->frames[i]);
	return i == 0 ? missing : i == FRAMES && i < stack->count ? "..." : "";
}

/* The waiter's stack on the left, the holder's on the right. */
static void print_pair(FILE *to, const struct row *row, const struct pair *pair)
{
	bool lock = row->kind != PROFILE_COND;
	size_t rows = pair->waiter.count, i;

	if (lock && pair->holder.count > rows)
		rows = pair->holder.count;
	if (rows > FRAMES + 1)
		rows = FRAMES + 1;
	fprintf(to, "    %3.0f %%  %-*s", 100 * pair->wait_ns / row->wait_ns, COLUMN,
		"waits at");
	fprintf(to, lock ? "holder took it at\n" : "\n");
	for (i = 0; i < rows; i++) {
		const char *left = cell(&pair->waiter, i, "?");
		const char *right = lock ? cell(&pair->holder, i, "not seen") : "";

		/* A long name gets its own line. */
		if (*right == '\0')
			fprintf(to, "           %s\n", left);
		else if (strlen(left) < COLUMN)
			fprintf(to, "           %-*s%s\n", COLUMN, left, right);
		else
			fprintf(to, "           %s\n           %*s%s\n", left, COLUMN, "",
				right);
	}
}

static void print_pairs(FILE *to, const struct rows *rows)
{
	size_t i, n;

	for (i = 0; i < rows->count && i < ROWS; i++) {
		const struct row *row = &rows->rows[i];

		if (row->pair_count == 0)
			continue;
		fprintf(to, "\n%zu. %s %s: %s in %.0f waits\n", i + 1,
			kind_name(row->kind), row->name, time_text(row->wait_ns),
			row->waits);
		for (n = 0; n < row->pair_count && n < PAIRS; n++)
			print_pair(to, row, &row->pairs[n]);
		if (row->pair_count > PAIRS)
			fprintf(to, "           and %zu more\n", row->pair_count - PAIRS);
	}
}

static void print_rows(FILE *to, const struct rows *rows)
{
	size_t i;

	for (i = 0; i < rows->count && i < ROWS; i++)
		print_row(to, i + 1, &rows->rows[i]);
	if (rows->count > ROWS)
		fprintf(to, "    and %zu more, which --json has\n", rows->count - ROWS);
}

static void print_table(FILE *to, const struct profile *profile)
{
	if (!profile->called)
		fprintf(to, "No process called a pthread lock function under pawl: the "
			    "program has no such locks,\n"
			    "is statically linked, or cannot be interposed.\n");
	else if (profile->locks.count == 0)
		fprintf(to, "No thread waited for a pthread lock.\n");
	else
		fprintf(to, "    wait, all   longest      waits contended  held avg   "
			    "longest  lock\n");
	print_rows(to, &profile->locks);
	if (profile->conds.count > 0) {
		fprintf(to, "Waits for signals:\n    wait, all   longest      waits  "
			    "condition variable\n");
		print_rows(to, &profile->conds);
	}
}

/* Waits that the table does not show. */
static void print_unseen(FILE *to, const struct profile *profile)
{
	const struct unseen *unseen = &profile->unseen;

	if (profile->stuck > 0)
		fprintf(to,
			"%zu thread%s still waited for a lock at the end; the table has "
			"finished waits only.\n",
			profile->stuck, profile->stuck == 1 ? "" : "s");
	if (unseen->asleep > 0)
		fprintf(to,
			"In %zu of %zu samples a thread slept on a futex for a reason "
			"that pawl does not see: it\n"
			"sees pthread mutexes, spin locks, read-write locks and "
			"condition variables, but not the\n"
			"locks of libpawl, Java, Go or Rust, semaphores, or locks "
			"between processes.\n",
			unseen->asleep, unseen->looks);
}

/* Overwrites the previous table on a terminal. */
void print_live(FILE *to, const struct profile *profile)
{
	if (isatty(fileno(to)))
		fprintf(to, "\033[H\033[J");
	fprintf(to, "after %.0f s:\n", profile->wall_s);
	print_table(to, profile);
	fflush(to);
}

static void print_losses(FILE *to, const struct profile *profile)
{
	static const char *const consequences[PROFILE_LOSSES] = {
		[PROFILE_LOST_LOCKS] = "locks: waits or acquisitions are missing",
		[PROFILE_LOST_THREADS] = "threads at a time: some are missing",
		[PROFILE_LOST_HELD] = "locks held by a thread: holders are missing",
		[PROFILE_LOST_STACKS] = "stacks: some waits have none",
		[PROFILE_LOST_SAMPLES] = "pairs of waiters and holders: some are missing",
		[PROFILE_LOST_MODULES] = "files of code: some frames have no names",
		[PROFILE_LOST_EDGES] = "orders of locks: cycles may be missing",
	};
	size_t i;

	for (i = 0; i < PROFILE_LOSSES; i++)
		if (profile->lost[i] > 0)
			fprintf(to,
				"\n"
				"%.0f times there was no room for more %s.\n",
				profile->lost[i], consequences[i]);
}

void print_profile(FILE *to, const struct profile *profile)
{
	size_t i;

	fprintf(to, "pawl profile:");
	for (i = 0; profile->command[i] != NULL && i < 8; i++)
		fprintf(to, " %s", profile->command[i]);
	fprintf(to, ", %.1f s, %zu process%s\n", profile->wall_s, profile->processes,
		profile->processes == 1 ? "" : "es");
	print_table(to, profile);
	print_unseen(to, profile);
	print_pairs(to, &profile->locks);
	print_pairs(to, &profile->conds);
	print_losses(to, profile);
	if (profile->ordered)
		print_cycles(to, profile);
}

void print_stack(FILE *to, const struct stack *stack, int indent)
{
	size_t i;

	for (i = 0; i < stack->count && i < FRAMES; i++)
		fprintf(to, "%*s%s\n", indent, "", frame_text(stack->frames[i]));
	if (stack->count > FRAMES)
		fprintf(to, "%*s...\n", indent, "");
}

void print_cycles(FILE *to, const struct profile *profile)
{
	size_t i, n;

	if (profile->cycle_count == 0)
		fprintf(to, "\n"
			    "No lock order cycle was observed.\n");
	for (i = 0; i < profile->cycle_count; i++) {
		const struct cycle *cycle = &profile->cycles[i];

		fprintf(to, "\n"
			    "These locks are taken in a cycle, and can deadlock:\n");
		for (n = 0; n < cycle->count; n++) {
			const struct cycle_end *end = &cycle->ends[n];

			fprintf(to, "  %s, then %s, by thread %ju%s\n", end->first,
				end->second, (uintmax_t)end->thread,
				end->several ? " and others" : "");
			fprintf(to, "    the first was taken at\n");
			print_stack(to, &end->first_at, 6);
			fprintf(to, "    the second at\n");
			print_stack(to, &end->second_at, 6);
		}
	}
}
