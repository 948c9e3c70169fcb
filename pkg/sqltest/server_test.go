package sqltest_test

import (
	"database/sql"
	"os"
	"testing"

	"github.com/openseckill/seckill/pkg/sqltest"
	"github.com/stretchr/testify/require"
)

func TestMain(m *testing.M) { os.Exit(sqltest.Main(m)) }

func open(t *testing.T, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func start(t *testing.T, o sqltest.Options) *sqltest.Server {
	t.Helper()
	s, err := sqltest.Start(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Stop()) })
	return s
}

func TestNew(t *testing.T) {
	t.Parallel()
	a, b := sqltest.New(t), sqltest.New(t)
	require.NotEqual(t, a, b)
	_, err := open(t, a).ExecContext(t.Context(), "CREATE TABLE here (id BIGINT)")
	require.NoError(t, err)

	var tables int
	const count = "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = DATABASE()"
	require.NoError(t, open(t, b).QueryRowContext(t.Context(), count).Scan(&tables))
	require.Zero(t, tables, "databases share nothing")
}

func TestRestart(t *testing.T) {
	t.Parallel()
	parent := t.TempDir()
	s := start(t, sqltest.Options{Parent: parent, TCP: true, Flags: []string{"--max-connections=17"}})
	dsn, err := s.NewDatabase(t.Context())
	require.NoError(t, err)
	db := open(t, dsn)
	_, err = db.ExecContext(t.Context(), "CREATE TABLE t (id BIGINT PRIMARY KEY) ENGINE=InnoDB")
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "INSERT INTO t VALUES (9007199254740993)")
	require.NoError(t, err)

	require.NoError(t, s.Kill())
	require.Error(t, db.PingContext(t.Context()), "a killed server does not answer")
	require.NoError(t, s.Restart())

	var id, most int64
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT id, @@max_connections FROM t").Scan(&id, &most))
	require.EqualValues(t, 9007199254740993, id, "what was committed outlives a crash")
	require.EqualValues(t, 17, most)

	require.NoError(t, s.Restart(), "one that runs is shut down first")
	require.NoError(t, s.Admin().PingContext(t.Context()))
	require.NoError(t, s.Stop())
	left, err := os.ReadDir(parent)
	require.NoError(t, err)
	require.Empty(t, left)
}

func TestStartReportsTheLog(t *testing.T) {
	t.Parallel()
	_, err := sqltest.Start(sqltest.Options{Parent: t.TempDir(), Flags: []string{"--no-such-flag"}})
	require.ErrorContains(t, err, "no-such-flag")
}

func TestSQLite(t *testing.T) {
	t.Parallel()
	var mode string
	require.NoError(t, sqltest.SQLite(t).QueryRowContext(t.Context(), "PRAGMA journal_mode").Scan(&mode))
	require.Equal(t, "wal", mode)
}
