package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/openseckill/seckill/pkg/faultnet"
)

const (
	readyWithin = 60 * time.Second // a loaded machine takes its time
	stopWithin  = 30 * time.Second
	pollEvery   = 20 * time.Millisecond
	logTail     = 4 << 10 // bytes of the server's log that an error quotes
)

// Options says how a server is started. The zero value is a server on a socket only.
type Options struct {
	Parent string   // directory that gets the server's own; default /dev/shm, else the temporary directory
	TCP    bool     // listen on a free port of 127.0.0.1 as well
	Flags  []string // further mariadbd flags, "--max-connections=20"; they win over ours
}

// Server is one private MariaDB server. Its methods are not safe to call at once,
// NewDatabase and DSN excepted.
type Server struct {
	binary string
	dir    string
	port   int // 0: socket only
	flags  []string
	admin  *sql.DB
	names  sync.Mutex
	last   int // number of the newest database

	child *child // the newest one; nil before the first
}

// Start starts a server on an empty directory and waits until it answers.
func Start(o Options) (*Server, error) {
	binary, err := findBinary()
	if err != nil {
		return nil, err
	}
	s := &Server{binary: binary, flags: o.Flags}
	if o.TCP {
		_, port, _ := net.SplitHostPort(faultnet.FreeAddr()) // it has both
		if s.port, err = strconv.Atoi(port); err != nil {
			return nil, fmt.Errorf("sqltest.Start: %w", err)
		}
	}
	if s.dir, err = os.MkdirTemp(parent(o.Parent), "seckill-sql-"); err != nil {
		return nil, fmt.Errorf("sqltest.Start: %w", err)
	}
	if err = s.initialise(); err == nil {
		err = s.start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("sqltest.Start: %w", err), s.Stop())
	}
	return s, nil
}

// Admin is a pool of connections that may do anything, with no database chosen.
func (s *Server) Admin() *sql.DB { return s.admin }

// NewDatabase creates an empty database under a name not used before on this server,
// and returns its DSN.
func (s *Server) NewDatabase(ctx context.Context) (dsn string, err error) {
	s.names.Lock()
	s.last++
	name := "app" + strconv.Itoa(s.last)
	s.names.Unlock()
	if _, err := s.admin.ExecContext(ctx, "CREATE DATABASE "+name+" CHARACTER SET utf8mb4"); err != nil {
		return "", fmt.Errorf("sqltest.NewDatabase: %w%s", err, s.obituary())
	}
	return s.DSN(name), nil
}

// DSN names a database of this server: by TCP where it listens there, else by its socket.
func (s *Server) DSN(database string) string {
	c := s.config(database)
	if s.port != 0 {
		c.Net, c.Addr = "tcp", s.address()
	}
	return c.FormatDSN()
}

// Kill ends the server as a crash would (SIGKILL). Its data stay for Restart.
func (s *Server) Kill() error { return s.end(syscall.SIGKILL) }

// Pid is the process id of the server's present life, to freeze or limit it by.
func (s *Server) Pid() int { return s.child.process.Pid }

// Shutdown ends the server in good order. Its data stay for Restart.
func (s *Server) Shutdown() error { return s.end(syscall.SIGTERM) }

// Restart starts the server again, on the same data and the same addresses. One that
// still runs is shut down first.
func (s *Server) Restart() error {
	if err := s.end(syscall.SIGTERM); err != nil {
		return err
	}
	return s.start()
}

// Stop shuts the server down and removes its data. It may be called again.
func (s *Server) Stop() error {
	var closed error
	if s.admin != nil {
		closed = s.admin.Close()
	}
	return errors.Join(closed, s.end(syscall.SIGTERM), os.RemoveAll(s.dir))
}

// config is always the way in by socket: it works where nothing may listen.
func (s *Server) config(database string) *mysql.Config {
	c := mysql.NewConfig()
	c.User, c.Net, c.Addr, c.DBName = "root", "unix", s.path("m.sock"), database
	return c
}

// initialise makes the pool and the files. The server could make them by itself, but one
// that is killed before it first flushed them does not start again.
func (s *Server) initialise() error {
	c := s.config("")
	c.Logger = &mysql.NopLogger{} // a server that is not up yet is no news
	connector, err := mysql.NewConnector(c)
	if err != nil {
		return err
	}
	s.admin = sql.OpenDB(connector)
	if err := os.MkdirAll(s.path("data"), 0o700); err != nil {
		return err
	}
	if err := s.launch("--bootstrap"); err != nil {
		return err
	}
	if <-s.child.exited; s.child.err != nil {
		return fmt.Errorf("%s --bootstrap: %w\n%s", s.binary, s.child.err, s.tail())
	}
	return nil
}

func (s *Server) start() error {
	if err := s.launch(); err != nil {
		return err
	}
	return s.awaitReady()
}

func (s *Server) launch(more ...string) error {
	log, err := os.OpenFile(s.path("m.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	defer log.Close() // the child has its own copy
	cmd := exec.Command(s.binary, append(s.args(), more...)...)
	cmd.Stdout, cmd.Stderr = log, log
	s.child, err = launch(cmd)
	return err
}

func (s *Server) args() []string {
	args := []string{
		"--no-defaults", // first: no file of the machine may change what a test means
		"--datadir=" + s.path("data"), "--socket=" + s.path("m.sock"), "--pid-file=" + s.path("m.pid"),
		"--skip-grant-tables", "--skip-name-resolve", "--skip-log-bin",
		"--innodb-buffer-pool-size=64M", "--innodb-log-file-size=8M", "--character-set-server=utf8mb4",
	}
	if os.Geteuid() == 0 {
		args = append(args, "--user=root")
	}
	if s.port == 0 {
		args = append(args, "--skip-networking")
	} else {
		args = append(args, "--bind-address=127.0.0.1", "--port="+strconv.Itoa(s.port))
	}
	return append(args, s.flags...)
}

func (s *Server) awaitReady() error {
	tick, late := time.NewTicker(pollEvery), time.NewTimer(readyWithin)
	defer tick.Stop()
	defer late.Stop()
	for {
		err := s.admin.Ping()
		if err == nil {
			return nil
		}
		select {
		case <-tick.C:
		case <-s.child.exited:
			return fmt.Errorf("%s ended at start: %w", s.binary, errors.Join(s.child.err, errors.New(s.tail())))
		case <-late.C:
			return fmt.Errorf("%s does not answer: %w\n%s", s.binary, err, s.tail())
		}
	}
}

// end signals the child and waits for its end, by force where it does not come.
func (s *Server) end(sig syscall.Signal) error {
	if s.child == nil {
		return nil
	}
	select {
	case <-s.child.exited:
		return nil
	default:
	}
	_ = s.child.process.Signal(sig) // an error means that it has just ended
	late := time.NewTimer(stopWithin)
	defer late.Stop()
	select {
	case <-s.child.exited:
		return nil
	case <-late.C:
		_ = s.child.process.Kill()
		<-s.child.exited
		return fmt.Errorf("sqltest: %s had to be killed\n%s", s.binary, s.tail())
	}
}

// obituary says how a server ended that should be there: a test that finds it gone is
// seldom the one that ended it.
func (s *Server) obituary() string {
	select {
	case <-s.child.exited:
		return fmt.Sprintf("; the server has ended: %v\n%s", s.child.err, s.tail())
	default:
		return ""
	}
}

func (s *Server) tail() string {
	b, err := os.ReadFile(s.path("m.log"))
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-logTail):])
}

func (s *Server) path(name string) string { return filepath.Join(s.dir, name) }

func (s *Server) address() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port)) }

func parent(wanted string) string {
	const memory = "/dev/shm" // three times as fast to start as on a disk
	if wanted != "" {
		return wanted
	}
	if info, err := os.Stat(memory); err == nil && info.IsDir() {
		return memory
	}
	return os.TempDir()
}

func findBinary() (string, error) {
	for _, name := range []string{"mariadbd", "/usr/sbin/mariadbd", "mysqld", "/usr/sbin/mysqld"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("sqltest: no mariadbd in PATH or /usr/sbin: install mariadb-server (10.6 or newer)")
}
