package sqlstore

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/pressly/goose/v3"
)

//go:embed migrations
var migrations embed.FS

// versionTable remembers which migrations have run.
const versionTable = "seckill_schema"

// Migrate brings the tables up to date. Any number of processes may call it at once: one
// works and the others wait for it. On SQLite it is for one process alone. A pool given to
// New for MySQL must allow two connections.
func (s *Store) Migrate(ctx context.Context) error {
	const op = "sqlstore.Migrate"
	if !s.dialect.sessions {
		return fault(op, s.migrate(ctx, s.db.DB))
	}
	db := s.db.DB
	if s.migration != nil {
		own, err := s.migration()
		if err != nil {
			return fault(op, err)
		}
		defer own.Close()
		db = own
	}
	if db.Stats().MaxOpenConnections == 1 { // the lock would wait for the work, which waits for the connection
		return &seckill.Error{Op: op, Code: seckill.Invalid, Err: errors.New("one connection is not enough")}
	}
	return fault(op, alone(ctx, db, func() error { return s.migrate(ctx, db) }))
}

func (s *Store) migrate(ctx context.Context, db *sql.DB) error {
	folder, err := fs.Sub(migrations, s.dialect.migrations)
	if err != nil {
		return err
	}
	p, err := goose.NewProvider(s.dialect.goose, db, folder,
		goose.WithTableName(versionTable), goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return err
	}
	_, err = p.Up(ctx)
	return err
}

// alone runs fn while no other process does. It takes the server's own named lock: that
// needs no table, the death of its holder frees it, and who waits gets it at once. (The
// locks of goose leave the creation of its version table outside.)
func alone(ctx context.Context, db *sql.DB, fn func() error) error {
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }() // goes back to its pool
	if err := lock(ctx, conn); err != nil {
		return fmt.Errorf("waiting for another migration: %w", err)
	}
	defer func() { // where this fails the session is over, and so is the lock
		_, _ = conn.ExecContext(context.WithoutCancel(ctx), "DO RELEASE_LOCK("+lockName+")")
	}()
	return fn()
}

// The name is one of the server, not of the database, and at most 64 characters long.
const lockName = "CONCAT('seckill.', LEFT(SHA2(DATABASE(), 256), 32))"

// lock waits in short steps, each far below the time-out of a read.
func lock(ctx context.Context, conn *sql.Conn) error {
	for {
		var got sql.NullBool
		if err := conn.QueryRowContext(ctx, "SELECT GET_LOCK("+lockName+", 5)").Scan(&got); err != nil {
			return err
		}
		if got.Bool {
			return nil
		}
		if !got.Valid {
			return errors.New("the server gives no lock")
		}
	}
}
