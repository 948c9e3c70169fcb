package sqlstore

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

func TestParseDSN(t *testing.T) {
	t.Parallel()
	c, err := parseDSN("u:p@tcp(db:3306)/app?parseTime=false&loc=Asia%2FShanghai&clientFoundRows=false&time_zone=%27SYSTEM%27&readTimeout=7s&sql_mode=%27%27")
	require.NoError(t, err)
	require.True(t, c.ParseTime)
	require.True(t, c.ClientFoundRows)
	require.True(t, c.InterpolateParams)
	require.Equal(t, time.UTC, c.Loc)
	require.Equal(t, "'+00:00'", c.Params["time_zone"])
	require.Contains(t, c.Params["sql_mode"], "STRICT_TRANS_TABLES")
	require.Equal(t, 7*time.Second, c.ReadTimeout, "a time-out is the operator's to choose")
	require.Equal(t, dialTimeout, c.Timeout)
	require.Equal(t, writeTimeout, c.WriteTimeout)
}

func TestParseDSNRefuses(t *testing.T) {
	t.Parallel()
	for _, dsn := range []string{
		"", "secret", "u:secret@tcp(db:3306)/", "u:secret@tcp(db:3306)", "u:se@secret/x@tcp(db/app",
		"u:x@secret/app", "u:secret@tcp(db:3306)/app?parseTime=secret", "u:secret@tcp(db:3306)/app?tls=secret",
	} {
		_, err := OpenMySQL(dsn, Options{})
		require.ErrorIs(t, err, seckill.Invalid, "%s", dsn)
		require.NotContains(t, err.Error(), "secret")
	}
}

// The settings as the server sees them.
func TestOpenMySQLSetsTheSession(t *testing.T) {
	t.Parallel()
	s, err := OpenMySQL(sqltest.New(t)+"?time_zone=%27%2B08%3A00%27", Options{MaxOpenConns: 3})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	require.NoError(t, s.Ping(t.Context()))
	require.Equal(t, 3, s.db.Stats().MaxOpenConnections)

	var zone, mode, wait, silence string
	require.NoError(t, s.db.QueryRowxContext(t.Context(), "SELECT @@time_zone, @@sql_mode, @@innodb_lock_wait_timeout, @@wait_timeout").Scan(&zone, &mode, &wait, &silence))
	require.Equal(t, "+00:00", zone)
	require.Contains(t, mode, "STRICT_TRANS_TABLES")
	require.Equal(t, lockWait, wait)
	require.Equal(t, silenceMax, silence)
}

// F9: idle connections that the server closed in the meantime are no error of the next call.
func TestServerClosesIdleConnections(t *testing.T) {
	t.Parallel()
	s, err := OpenMySQL(sqltest.New(t)+"?wait_timeout=1", Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	var id int64
	require.NoError(t, s.db.GetContext(t.Context(), &id, "SELECT CONNECTION_ID()"))
	other, err := OpenMySQL(sqltest.New(t), Options{})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, other.Close()) })
	require.Eventually(t, func() bool {
		var alive int
		err := other.db.GetContext(t.Context(), &alive, "SELECT COUNT(*) FROM information_schema.processlist WHERE id = ?", id)
		return err == nil && alive == 0
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, s.Ping(t.Context()))
}

func TestPingWithoutAServer(t *testing.T) {
	t.Parallel()
	s, err := OpenMySQL("root@unix("+t.TempDir()+"/none.sock)/app", Options{})
	require.NoError(t, err)
	require.ErrorIs(t, s.Ping(t.Context()), seckill.Unavailable)
	require.NoError(t, s.Close())
}

// C22: in an outage the driver has the same to say of every connection.
func TestDriverLogIsShort(t *testing.T) {
	var out bytes.Buffer
	before := slog.Default()
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	t.Cleanup(func() { slog.SetDefault(before) })
	l := new(driverLog)
	for range 1000 {
		l.Print("packets.go:58", "unexpected EOF")
	}
	require.Equal(t, 1, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "unexpected EOF")
}
