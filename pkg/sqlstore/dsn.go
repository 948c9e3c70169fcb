package sqlstore

import (
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/openseckill/seckill/pkg/seckill"
)

// Bounds on waiting, unless the DSN sets its own.
const (
	dialTimeout  = 5 * time.Second
	readTimeout  = 30 * time.Second // longer than lockWait: the server gives up first, and says so
	writeTimeout = 30 * time.Second
	lockWait     = "5"  // seconds a statement waits for a row lock
	silenceMax   = "30" // seconds after which the server gives up a session that says nothing
)

// parseDSN reads a DSN and sets what the program relies on, whatever the DSN says. Its
// errors never quote the DSN: a badly quoted password can turn up in any part of it.
func parseDSN(dsn string) (*mysql.Config, error) {
	const op = "sqlstore.OpenMySQL"
	c, err := mysql.ParseDSN(dsn)
	if err != nil {
		return nil, &seckill.Error{Op: op, Code: seckill.Invalid, Err: errors.New("the DSN is not of the form user:password@tcp(host:port)/database?name=value")}
	}
	if c.DBName == "" {
		return nil, &seckill.Error{Op: op, Code: seckill.Invalid, Err: errors.New("the DSN names no database: user:password@tcp(host:port)/database")}
	}
	c.ParseTime, c.Loc = true, time.UTC
	c.ClientFoundRows = true
	c.InterpolateParams = true // one round trip for each statement instead of two
	c.RejectReadOnly = true    // after a failover, look for the new primary
	c.Logger = new(driverLog)
	c.Timeout = orDefault(c.Timeout, dialTimeout)
	c.ReadTimeout = orDefault(c.ReadTimeout, readTimeout)
	c.WriteTimeout = orDefault(c.WriteTimeout, writeTimeout)
	if c.Params == nil {
		c.Params = make(map[string]string)
	}
	c.Params["time_zone"] = "'+00:00'"
	c.Params["innodb_lock_wait_timeout"] = lockWait
	// A program that is frozen, or whose machine is gone, keeps the rows of its transaction
	// locked until the server gives it up: by default only after eight hours.
	if c.Params["wait_timeout"] == "" {
		c.Params["wait_timeout"] = silenceMax
	}
	// All of it, so that no server's own setting changes what a statement means.
	c.Params["sql_mode"] = "'STRICT_TRANS_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION'"
	return c, nil
}

func orDefault(d, otherwise time.Duration) time.Duration {
	if d == 0 {
		return otherwise
	}
	return d
}

// driverQuiet is how long the driver is not listened to after it was: in an outage it has the
// same to say of every connection, a few times a second for as long as it lasts.
const driverQuiet = time.Minute

// driverLog puts what the driver has to say, mostly of connections that broke, into the
// program's own log.
type driverLog struct{ quietUntil atomic.Int64 } // Unix ns

func (l *driverLog) Print(v ...any) {
	now, until := time.Now(), l.quietUntil.Load()
	if now.UnixNano() < until || !l.quietUntil.CompareAndSwap(until, now.Add(driverQuiet).UnixNano()) {
		return
	}
	slog.Warn("mysql driver; more of it is left out for a while", "message", fmt.Sprint(v...), "while", driverQuiet)
}
