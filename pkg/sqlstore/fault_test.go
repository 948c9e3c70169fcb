package sqlstore

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

type liteFault int

func (f liteFault) Error() string { return fmt.Sprintf("sqlite %d", int(f)) }
func (f liteFault) Code() int     { return int(f) }

func TestFault(t *testing.T) {
	t.Parallel()
	my := func(number uint16) error { return &mysql.MySQLError{Number: number, Message: "as the server puts it"} }
	for _, row := range []struct {
		name string
		err  error
		want seckill.Code
	}{
		{"null in a column that takes none", my(1048), seckill.Invalid},
		{"out of range", my(1264), seckill.Invalid},
		{"truncated", my(1265), seckill.Invalid},
		{"wrong value", my(1292), seckill.Invalid},
		{"incorrect value", my(1366), seckill.Invalid},
		{"too long", my(1406), seckill.Invalid},
		{"arithmetic overflow", my(1690), seckill.Invalid},
		{"check of MySQL", my(3819), seckill.Invalid},
		{"check of MariaDB", my(4025), seckill.Invalid},
		{"duplicate that nobody expected", my(1062), seckill.Conflict},
		{"no such table", my(1146), seckill.Internal},
		{"no such column", my(1054), seckill.Internal},
		{"syntax", my(1064), seckill.Internal},
		{"deadlock", my(1213), seckill.Unavailable},
		{"lock wait", my(1205), seckill.Unavailable},
		{"too many connections", my(1040), seckill.Unavailable},
		{"killed query", my(1317), seckill.Unavailable},
		{"shutdown", my(1053), seckill.Unavailable},
		{"read-only after a failover", my(1290), seckill.Unavailable},
		{"disk full", my(1021), seckill.Unavailable},
		{"a number nobody knows", my(65535), seckill.Unavailable},
		{"check of SQLite", liteFault(275), seckill.Invalid},
		{"null of SQLite", liteFault(1299), seckill.Invalid},
		{"duplicate key of SQLite", liteFault(1555), seckill.Conflict},
		{"duplicate of SQLite", liteFault(2067), seckill.Conflict},
		{"no such table of SQLite", liteFault(1), seckill.Internal},
		{"busy", liteFault(5), seckill.Unavailable},
		{"busy snapshot", liteFault(517), seckill.Unavailable},
		{"disk full of SQLite", liteFault(13), seckill.Unavailable},
		{"bad connection", driver.ErrBadConn, seckill.Unavailable},
		{"invalid connection", mysql.ErrInvalidConn, seckill.Unavailable},
		{"transaction is over", sql.ErrTxDone, seckill.Unavailable},
		{"connection is returned", sql.ErrConnDone, seckill.Unavailable},
		{"cancelled", context.Canceled, seckill.Unavailable},
		{"deadline", context.DeadlineExceeded, seckill.Unavailable},
		{"time-out of a read", os.ErrDeadlineExceeded, seckill.Unavailable},
		{"end of file", io.ErrUnexpectedEOF, seckill.Unavailable},
		{"no route", &net.OpError{Op: "dial", Err: errors.New("no route to host")}, seckill.Unavailable},
		{"what nobody thought of", errors.New("?"), seckill.Unavailable},
		{"what has a code", &seckill.Error{Op: "x", Code: seckill.Outdated}, seckill.Outdated},
		{"nothing", nil, ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			require.Equal(t, row.want, seckill.CodeOf(fault("sqlstore.Op", row.err)))
			if row.err != nil {
				wrapped := fmt.Errorf("wrapped: %w", row.err)
				require.Equal(t, row.want, seckill.CodeOf(fault("sqlstore.Op", wrapped)))
				require.ErrorIs(t, fault("sqlstore.Op", row.err), row.err, "the cause is kept for the log")
			}
		})
	}
	require.EqualError(t, fault("sqlstore.Op", io.EOF), "sqlstore.Op: UNAVAILABLE: EOF")
	require.NoError(t, fault("sqlstore.Op", nil))
}

// server is a fresh MariaDB database with the tables and one session of it.
func server(t *testing.T) (*sql.DB, *sql.Conn) {
	t.Helper()
	s, err := OpenMySQL(sqltest.New(t), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Migrate(t.Context()))
	return s.db.DB, session(t, s.db.DB)
}

func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() }) // some tests kill it
	return conn
}

const (
	insertOne = "INSERT INTO voucher_order (id, user_id, voucher_id, status, created_at, updated_at) VALUES "
	anOrder   = "(1, 1, 1001, 'created', 0, 0)"
)

// The causes above, as a real server puts them.
func TestFaultOfMariaDB(t *testing.T) {
	t.Parallel()
	db, conn := server(t)
	_, err := conn.ExecContext(t.Context(), insertOne+anOrder)
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "SET innodb_lock_wait_timeout = 0")
	require.NoError(t, err)
	other, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = other.ExecContext(t.Context(), "UPDATE voucher_order SET reason = 'held' WHERE id = 1")
	require.NoError(t, err)

	for _, row := range []struct {
		name, query string
		want        seckill.Code
		contention  bool
	}{
		{"lock wait", "DELETE FROM voucher_order WHERE id = 1", seckill.Unavailable, true},
		{"syntax", "SELEC 1", seckill.Internal, false},
		{"no table", "SELECT 1 FROM nowhere", seckill.Internal, false},
		{"no column", "SELECT nothing FROM voucher_order", seckill.Internal, false},
		{"null", insertOne + "(2, NULL, 1, 'created', 0, 0)", seckill.Invalid, false},
		{"check", insertOne + "(2, 0, 1, 'created', 0, 0)", seckill.Invalid, false},
		{"out of range", insertOne + "(2, 9223372036854775808, 1, 'created', 0, 0)", seckill.Invalid, false},
		{"too long", insertOne + "(2, 2, 1, 'a status longer than its column', 0, 0)", seckill.Invalid, false},
		{"wrong value", insertOne + "(2, 'x', 1, 'created', 0, 0)", seckill.Invalid, false},
	} {
		_, err := conn.ExecContext(t.Context(), row.query)
		require.Error(t, err, row.name)
		require.Equal(t, row.want, codeOf(err), "%s: %v", row.name, err)
		require.Equal(t, row.contention, isContention(err), "%s: %v", row.name, err)
	}
	require.NoError(t, other.Rollback())

	_, err = conn.ExecContext(t.Context(), insertOne+anOrder)
	require.True(t, isDuplicate(err), "%v", err)
	_, err = conn.ExecContext(t.Context(), insertOne+"(2, 1, 1001, 'paid', 0, 0)")
	require.True(t, isDuplicate(err), "%v", err)
}

func TestFaultOfSQLite(t *testing.T) {
	t.Parallel()
	db := sqltest.SQLite(t)
	s := New(db, SQLite, Options{})
	require.NoError(t, s.Migrate(t.Context()))
	conn := session(t, db)
	_, err := conn.ExecContext(t.Context(), insertOne+anOrder)
	require.NoError(t, err)
	for query, want := range map[string]seckill.Code{
		"SELEC 1":               seckill.Internal,
		"SELECT 1 FROM nowhere": seckill.Internal,
		insertOne + "(2, NULL, 1, 'created', 0, 0)": seckill.Invalid,
		insertOne + "(2, 0, 1, 'created', 0, 0)":    seckill.Invalid,
		insertOne + anOrder:                         seckill.Conflict,
		insertOne + "(2, 1, 1001, 'paid', 0, 0)":    seckill.Conflict,
	} {
		_, err := conn.ExecContext(t.Context(), query)
		require.Equal(t, want, codeOf(err), "%s: %v", query, err)
	}
	_, err = conn.ExecContext(t.Context(), "PRAGMA busy_timeout = 0")
	require.NoError(t, err)
	other, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	_, err = conn.ExecContext(t.Context(), "DELETE FROM voucher_order")
	require.True(t, isContention(err), "%v", err)
	require.Equal(t, seckill.Unavailable, codeOf(err))
	require.NoError(t, other.Rollback())
}

func TestFaultOfADeadlock(t *testing.T) {
	t.Parallel()
	db, _ := server(t)
	_, err := db.ExecContext(t.Context(), insertOne+anOrder+", (2, 2, 1001, 'created', 0, 0)")
	require.NoError(t, err)
	const update = "UPDATE voucher_order SET reason = 'held' WHERE id = ?"
	txs := make([]*sql.Tx, 2)
	for i := range txs {
		txs[i], err = db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		_, err = txs[i].ExecContext(t.Context(), update, i+1)
		require.NoError(t, err)
	}
	failures := make(chan error, len(txs))
	for i, tx := range txs { // each asks for what the other has
		go func() {
			_, err := tx.ExecContext(context.WithoutCancel(t.Context()), update, 2-i)
			_ = tx.Rollback() // the victim's is over already
			failures <- err
		}()
	}
	failure := errors.Join(<-failures, <-failures) // one of them is the victim
	require.True(t, isContention(failure), "%v", failure)
	require.Equal(t, seckill.Unavailable, codeOf(failure))
}

func TestFaultOfAKilledConnection(t *testing.T) {
	t.Parallel()
	db, conn := server(t)
	tx, err := conn.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	var id int64
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT CONNECTION_ID()").Scan(&id))
	_, err = db.ExecContext(t.Context(), "KILL ?", id)
	require.NoError(t, err)
	_, err = tx.ExecContext(t.Context(), insertOne+anOrder)
	require.Error(t, err)
	require.Equal(t, seckill.Unavailable, codeOf(err), "%v", err)
}
