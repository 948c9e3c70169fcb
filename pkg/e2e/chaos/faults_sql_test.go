package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// sqlFaults strike the database.
var sqlFaults = []*fault{
	{name: "sql-kill", brk: func(w *world, s step) error { return w.restartSQL(s, w.sql.Kill) }},
	{name: "sql-restart", brk: func(w *world, s step) error { return w.restartSQL(s, w.sql.Shutdown) }},
	{name: "sql-freeze", brk: func(w *world, s step) error {
		w.sqlMu.Lock()
		defer w.sqlMu.Unlock()
		return freeze(w, w.sql.Pid(), s)
	}},
	{name: "sql-crowded", brk: crowdSQL},
	{name: "sql-deadlock", brk: rival},
}

func (w *world) restartSQL(s step, end func() error) error {
	w.sqlMu.Lock()
	defer w.sqlMu.Unlock()
	if err := end(); err != nil {
		return err
	}
	w.last(s)
	return w.sql.Restart()
}

// crowdSQL lets the database take hardly any connection, and ends those there are.
func crowdSQL(w *world, s step) error {
	w.sqlMu.Lock()
	defer w.sqlMu.Unlock()
	ctx := w.pass()
	conn, err := w.sql.Admin().Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	const fewest = 10 // that the server agrees to
	if _, err := conn.ExecContext(ctx, fmt.Sprintf("SET GLOBAL max_connections = %d", fewest)); err != nil {
		return err
	}
	for end := w.since() + s.lasts; w.since() < end && pause(ctx, 100*time.Millisecond); {
		if err := endSessions(ctx, conn); err != nil {
			return err
		}
	}
	_, err = conn.ExecContext(ctx, "SET GLOBAL max_connections = DEFAULT")
	return err
}

// endSessions ends all sessions but this one.
func endSessions(ctx context.Context, conn *sql.Conn) error {
	rows, err := conn.QueryContext(ctx, "SELECT id FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND user = 'root'")
	if err != nil {
		return err
	}
	defer rows.Close()
	var ids []int64
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		ids = append(ids, id)
	}
	for _, id := range ids {
		_, _ = conn.ExecContext(ctx, fmt.Sprintf("KILL %d", id)) // it may have ended by itself
	}
	return rows.Err()
}

// rival is a transaction that takes its locks in the other order than ours: the voucher first,
// then orders. One of the two has to give way.
func rival(w *world, s step) error {
	for end := w.since() + s.lasts; w.since() < end && pause(w.pass(), 10*time.Millisecond); {
		_ = w.rivalOnce() // that it loses is what it is for
	}
	return nil
}

func (w *world) rivalOnce() error {
	ctx, cancel := context.WithTimeout(w.pass(), 2*time.Second)
	defer cancel()
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, query := range []string{
		"UPDATE seckill_voucher SET stock = stock",
		"SELECT id FROM voucher_order WHERE status = 'created' ORDER BY id DESC LIMIT 50 FOR UPDATE",
	} {
		if _, err := tx.ExecContext(ctx, query); err != nil {
			return err
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil
}
