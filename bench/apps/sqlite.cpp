/* SPDX-License-Identifier: MIT */
/*
 * SQLite with small transactions: all threads share one connection to a database in
 * memory, which SQLite guards with one recursive mutex. Four operations in five look up a
 * row by its key, one adds 1 to a counter in a row.
 *
 * At the end the sum of the counters must equal the number of updates.
 */
#include "app.h"

#include <sqlite3.h>

#include <cstdint>

static const int rows = 10000;

static sqlite3 *db;

static void require(bool good)
{
	if (!good) {
		std::fprintf(stderr, "sqlite: %s\n", sqlite3_errmsg(db));
		std::_Exit(1);
	}
}

static void execute(const char *sql)
{
	require(sqlite3_exec(db, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
}

static sqlite3_stmt *prepare(const char *sql)
{
	sqlite3_stmt *statement;

	require(sqlite3_prepare_v2(db, sql, -1, &statement, nullptr) == SQLITE_OK);
	return statement;
}

static std::atomic<unsigned long> updates(0);

static unsigned long work(int thread, const std::atomic<bool> &stop)
{
	sqlite3_stmt *look_up = prepare("SELECT id FROM t WHERE id = ?");
	sqlite3_stmt *update = prepare("UPDATE t SET n = n + 1 WHERE id = ?");
	std::uint64_t x = 88172645463325252u + static_cast<unsigned>(thread);
	unsigned long count = 0, updated = 0;

	do {
		bool looks = count % 5 != 0;
		sqlite3_stmt *statement = looks ? look_up : update;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		int id = static_cast<int>(x % rows);
		sqlite3_bind_int(statement, 1, id);
		require(sqlite3_step(statement) == (looks ? SQLITE_ROW : SQLITE_DONE));
		if (looks && sqlite3_column_int(statement, 0) != id)
			std::_Exit(STATUS_WRONG);
		sqlite3_reset(statement);
		updated += !looks;
		count++;
	} while (!stop);
	sqlite3_finalize(look_up);
	sqlite3_finalize(update);
	updates += updated;
	return count;
}

int main(int argc, char **argv)
{
	const app app = parse(argc, argv);
	const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE |
			  SQLITE_OPEN_FULLMUTEX;

	require(sqlite3_open_v2(":memory:", &db, flags, nullptr) == SQLITE_OK);
	execute("CREATE TABLE t (id INTEGER PRIMARY KEY, n INTEGER)");
	execute("WITH RECURSIVE i(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM i WHERE x "
		"< "
		"9999) INSERT INTO t SELECT x, 0 FROM i");
	measure(app, work);

	sqlite3_stmt *sum = prepare("SELECT sum(n) FROM t");
	require(sqlite3_step(sum) == SQLITE_ROW);
	bool right = static_cast<unsigned long>(sqlite3_column_int64(sum, 0)) == updates;
	sqlite3_finalize(sum);
	sqlite3_close(db);
	return right ? 0 : STATUS_WRONG;
}
