package sqlstore

import (
	"database/sql"

	"github.com/pressly/goose/v3"
)

// Dialect is what differs between the databases. It is MySQL or SQLite.
type Dialect struct {
	driver     string // as sqlx knows it
	goose      goose.Dialect
	migrations string         // folder of the schema
	now        string         // the database's clock in whole Unix ms
	forUpdate  string         // ends a SELECT that locks its row
	skipLocked string         // ends a SELECT that locks its rows, but for those that are locked
	write      *sql.TxOptions // of every transaction that writes
	sessions   bool           // has locks that end with their session
}

// MySQL is MySQL 8 or newer, and MariaDB 10.6 or newer. READ COMMITTED is asked for with
// each transaction: the session variable has another name on each of them.
var MySQL = Dialect{
	driver:     "mysql",
	goose:      goose.DialectMySQL,
	migrations: "migrations/mysql",
	now:        "CAST(UNIX_TIMESTAMP(NOW(3)) * 1000 AS SIGNED)", // decimals: exact
	forUpdate:  " FOR UPDATE",
	skipLocked: " FOR UPDATE SKIP LOCKED",
	write:      &sql.TxOptions{Isolation: sql.LevelReadCommitted},
	sessions:   true,
}

// SQLite is a file, opened with _txlock=immediate: a transaction locks all of it.
var SQLite = Dialect{
	driver:     "sqlite3",
	goose:      goose.DialectSQLite3,
	migrations: "migrations/sqlite",
	now:        "CAST(ROUND(unixepoch('subsec') * 1000) AS INTEGER)", // a double: rounded
	write:      &sql.TxOptions{},
}
