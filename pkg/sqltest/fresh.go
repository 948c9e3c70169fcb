package sqltest

import (
	"database/sql"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver "sqlite"
)

// shared is the one server of this test binary, started by the first test that needs it.
var shared struct {
	start  sync.Once
	server *Server
	err    error
}

// New returns the DSN of a fresh, empty database on the server that this test binary
// shares. A package that calls it ends its TestMain with os.Exit(sqltest.Main(m)).
func New(t testing.TB) (dsn string) {
	t.Helper()
	shared.start.Do(func() { shared.server, shared.err = Start(Options{}) })
	if shared.err != nil {
		t.Fatal(shared.err)
	}
	dsn, err := shared.server.NewDatabase(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return dsn
}

// Main runs the tests, then stops the shared server if one was started.
func Main(m *testing.M) (exit int) {
	exit = m.Run()
	if shared.server == nil {
		return exit
	}
	if err := shared.server.Stop(); err != nil && exit == 0 {
		return 1
	}
	return exit
}

// SQLite opens a fresh database in a file that goes away with the test.
func SQLite(t testing.TB) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", SQLiteDSN(filepath.Join(t.TempDir(), "app.db")))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() }) // idempotent, so a test may close it itself
	return db
}

// SQLiteDSN names a database file as the program needs it opened: readers beside one
// writer, and transactions that take the write lock at their start, since one that reads
// first and writes later fails at once beside another.
func SQLiteDSN(path string) string {
	return "file:" + path + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=synchronous(NORMAL)&_txlock=immediate"
}
