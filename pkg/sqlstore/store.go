package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/go-sql-driver/mysql"
	"github.com/jmoiron/sqlx"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Another transaction in the way is tried again here, before it is anybody else's trouble.
const (
	contentionTries = 3
	contentionPause = 5 * time.Millisecond // the first one; jittered, and growing
)

const (
	connsDefault = 16
	connLifetime = 3 * time.Minute
	connIdle     = 10 * time.Second // well below silenceMax: the server does not hang up first
	chunk        = 1000             // rows or ids in one statement
)

// Options are the settings of a Store. The zero value is usable.
type Options struct {
	PayTimeout   time.Duration // how long an order may stay unpaid; 0: for ever
	MaxOpenConns int           // default 16; times the processes, it must stay below the server's max_connections
}

// Store is the database of the sale. It is safe for concurrent use.
type Store struct {
	db         *sqlx.DB
	dialect    Dialect
	payTimeout time.Duration
	noted      chan struct{}           // see Noted
	migration  func() (*sql.DB, error) // a pool of its own for Migrate; nil: the common one
}

// OpenMySQL opens a pool of connections, without connecting yet. It sets parseTime, loc,
// the session time zone and mode, clientFoundRows and time-outs itself. A bad DSN is
// Invalid, in words that never show its password.
func OpenMySQL(dsn string, o Options) (*Store, error) {
	c, err := parseDSN(dsn)
	if err != nil {
		return nil, err
	}
	db, err := open(c)
	if err != nil {
		return nil, err
	}
	s := New(db, MySQL, o)
	patient := c.Clone()
	patient.ReadTimeout = 0                // changing a large table takes as long as it takes
	delete(patient.Params, "wait_timeout") // the session that keeps the lock is silent meanwhile
	s.migration = func() (*sql.DB, error) { return open(patient) }
	return s, nil
}

// New makes a Store of a pool that the caller opened. Close closes the pool.
func New(db *sql.DB, d Dialect, o Options) *Store {
	conns := o.MaxOpenConns
	if conns <= 0 {
		conns = connsDefault
	}
	db.SetMaxOpenConns(conns)
	db.SetMaxIdleConns(conns)
	db.SetConnMaxLifetime(connLifetime)
	db.SetConnMaxIdleTime(connIdle)
	return &Store{db: sqlx.NewDb(db, d.driver), dialect: d, payTimeout: o.PayTimeout, noted: make(chan struct{}, 1)}
}

func open(c *mysql.Config) (*sql.DB, error) {
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return nil, fault("sqlstore.OpenMySQL", err)
	}
	return sql.OpenDB(connector), nil
}

// Close closes the pool. Calls in progress fail with Unavailable. A connection that does
// not answer is closed, too: that is no error.
func (s *Store) Close() error {
	if err := fault("sqlstore.Close", s.db.Close()); !errors.Is(err, seckill.Unavailable) {
		return err
	}
	return nil
}

// Ping asks whether the database answers; Unavailable where it does not.
func (s *Store) Ping(ctx context.Context) error {
	return fault("sqlstore.Ping", s.db.PingContext(ctx))
}

// inTx runs fn in one transaction that may write, and commits it. Any error, a panic too,
// rolls back. An error of the commit itself leaves open whether it happened.
func (s *Store) inTx(ctx context.Context, fn func(tx *sqlx.Tx) error) (err error) {
	ctx, span := s.begin(ctx)
	defer func() { end(span, err) }()
	tx, err := s.db.BeginTxx(ctx, s.dialect.write)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // after a commit it does nothing; if it fails, so does the connection
	if err := fn(tx); err != nil {
		return err
	}
	return commit(ctx, tx)
}

// commit waits for the answer as long as ctx lasts: the driver by itself waits as long as the
// DSN says, which is longer than most callers can.
func commit(ctx context.Context, tx *sqlx.Tx) error {
	done := make(chan error, 1)
	go func() { done <- tx.Commit() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// contend is inTx for a transaction that changes orders. Where another one was in the way
// it runs fn again, a few times; after a commit it speaks on noted.
func (s *Store) contend(ctx context.Context, fn func(tx *sqlx.Tx) error) error {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval = contentionPause
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := s.inTx(ctx, fn)
		if err != nil && !isContention(err) {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pauses), backoff.WithMaxTries(contentionTries))
	if err != nil {
		return err
	}
	select {
	case s.noted <- struct{}{}:
	default:
	}
	return nil
}

// clock reads the database's clock in Unix ms. An expression in each row of a statement
// would cost as much as the row.
func (s *Store) clock(ctx context.Context, tx *sqlx.Tx) (now int64, err error) {
	err = tx.GetContext(ctx, &now, "SELECT "+s.dialect.now)
	return now, err
}

// selectIn reads the rows of a query whose last placeholder is an IN list, some ids at a
// time. args are those of the placeholders before it.
func selectIn[T any, ID ~int64](ctx context.Context, q sqlx.QueryerContext, query string, ids []ID, args ...any) ([]T, error) {
	var rows []T
	for some := range slices.Chunk(ids, chunk) {
		query, args, err := sqlx.In(query, append(slices.Clone(args), some)...)
		if err != nil {
			return nil, err
		}
		var found []T
		if err := sqlx.SelectContext(ctx, q, &found, query, args...); err != nil {
			return nil, err
		}
		rows = append(rows, found...)
	}
	return rows, nil
}
