package redistest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/openseckill/seckill/pkg/faultnet"
)

const (
	readyLimit = 20 * time.Second
	readyPoll  = 5 * time.Millisecond
	portTries  = 5
	tempMax    = 60   // bytes; a socket's path may have 104 on some systems
	logTail    = 2000 // bytes of the server's log in an error
)

// Options say how a private server differs from an empty one on a Unix socket that keeps
// nothing.
type Options struct {
	TCP  bool     // listen on a free loopback port instead of a Unix socket
	AOF  string   // appendfsync of an append-only file: "everysec" or "always"; "": no file
	Dir  string   // where the data goes, left in place by Close; "": a directory of its own
	Args []string // further arguments of redis-server, "--maxmemory", "1mb"
}

// Server is a private redis-server. Its methods are for one goroutine.
type Server struct {
	o     Options
	base  string // a short path of its own: socket, log and, without Options.Dir, the data
	addr  string
	child *child
	still bool // frozen by Pause
}

// Start runs a server and returns once it answers. Close ends it.
func Start(o Options) (*Server, error) {
	base, err := os.MkdirTemp(tempDir(), "redis")
	if err != nil {
		return nil, fmt.Errorf("redistest.Start: %w", err)
	}
	s := &Server{o: o, base: base}
	if err := s.first(); err != nil {
		return nil, errors.Join(fmt.Errorf("redistest.Start: %w", err), s.Close())
	}
	return s, nil
}

// Addr is the server's address for go-redis, which takes one that begins with a slash for
// the path of a Unix socket. It stays the same over Restart.
func (s *Server) Addr() string { return s.addr }

// Client returns a new client of the server; the caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:                     s.addr,
		ContextTimeoutEnabled:    true,
		DisableIdentity:          true, // servers before 7.2 do not know CLIENT SETINFO
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}

// Stop ends the server in good order: an append-only file is complete. The data stays for
// Restart. Stopping what has ended is no error.
func (s *Server) Stop() error { return s.end("Stop", (*child).stop) }

// Kill ends the server by SIGKILL, as a crash would. The data stays for Restart.
func (s *Server) Kill() error { return s.end("Kill", (*child).kill) }

// Pid is the process id of the server's present life, to freeze or limit it by.
func (s *Server) Pid() int { return s.child.process.Pid }

// Pause freezes the server: it holds its connections and says nothing. Resume wakes it, with
// all that it believed.
func (s *Server) Pause() error {
	s.still = true
	return s.child.signal(syscall.SIGSTOP)
}

// Resume ends a Pause.
func (s *Server) Resume() error {
	s.still = false
	return s.child.signal(syscall.SIGCONT)
}

// answers reports whether the server is able to.
func (s *Server) answers() bool { return !s.still && !s.child.ended() }

// Restart runs the server again at the same address on the same data; one that still runs
// is stopped first.
func (s *Server) Restart() error {
	if err := s.Stop(); err != nil {
		return err
	}
	if err := s.run(); err != nil {
		return fmt.Errorf("redistest.Restart: %w", err)
	}
	return nil
}

// Close kills the server and removes what it wrote, except in Options.Dir.
func (s *Server) Close() error { return errors.Join(s.Kill(), os.RemoveAll(s.base)) }

func (s *Server) end(verb string, how func(*child) error) error {
	if s.child == nil || s.child.ended() {
		return nil
	}
	if err := how(s.child); err != nil {
		return fmt.Errorf("redistest.%s: %w", verb, err)
	}
	return nil
}

// first finds an address. Another process may take a free port before the server does,
// so a port that is lost is replaced by another.
func (s *Server) first() (err error) {
	if !s.o.TCP {
		s.addr = filepath.Join(s.base, "r.sock")
		return s.run()
	}
	for range portTries {
		s.addr = faultnet.FreeAddr()
		if err = s.run(); err == nil {
			return nil
		}
	}
	return err
}

// run starts the process and waits for its first answer.
func (s *Server) run() (err error) {
	s.still = false
	if s.child, err = spawn(s.args(), s.logPath()); err != nil {
		return err
	}
	limit := time.After(readyLimit)
	poll := time.NewTicker(readyPoll)
	defer poll.Stop()
	for {
		select {
		case <-s.child.done:
			return fmt.Errorf("redis-server ended at once; its log: %s", s.tail())
		case <-limit:
			return errors.Join(fmt.Errorf("no answer within %v: %w; its log: %s", readyLimit, err, s.tail()), s.child.kill())
		case <-poll.C:
			if err = s.ping(); err == nil {
				return nil
			}
		}
	}
}

func (s *Server) args() []string {
	args := []string{"--daemonize", "no", "--save", "", "--dir", s.dataDir()}
	if s.o.TCP {
		host, port, _ := net.SplitHostPort(s.addr)
		args = append(args, "--bind", host, "--port", port)
	} else {
		args = append(args, "--port", "0", "--unixsocket", s.addr)
	}
	if s.o.AOF != "" {
		args = append(args, "--appendonly", "yes", "--appendfsync", s.o.AOF)
	} else {
		args = append(args, "--appendonly", "no")
	}
	return append(args, s.o.Args...)
}

func (s *Server) dataDir() string {
	if s.o.Dir != "" {
		return s.o.Dir
	}
	return s.base
}

// ping speaks to the server by hand: a client would retry, and log what is expected here.
func (s *Server) ping() error {
	network := "unix"
	if s.o.TCP {
		network = "tcp"
	}
	conn, err := net.DialTimeout(network, s.addr, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(time.Second)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, "PING\r\n"); err != nil {
		return err
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		return err
	}
	// A server that wants a password is up, too.
	if !strings.HasPrefix(line, "+PONG") && !strings.HasPrefix(line, "-NOAUTH") {
		return errors.New(strings.TrimSpace(line))
	}
	return nil
}

func (s *Server) logPath() string { return filepath.Join(s.base, "redis.log") }

func (s *Server) tail() string {
	b, err := os.ReadFile(s.logPath())
	if err != nil {
		return err.Error()
	}
	return string(b[max(0, len(b)-logTail):])
}

// tempDir is the usual one unless its path leaves no room for a socket's.
func tempDir() string {
	if d := os.TempDir(); len(d) <= tempMax {
		return d
	}
	return "/tmp"
}
