package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"
)

// The limits of a server. An answer may be waited for, so writing has the longest.
const (
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 10 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 60 * time.Second
	headerBytesMax    = 16 << 10
)

// NewServer returns a server no client can hold for ever: headers must be complete within
// 5 s and 16 KiB, the whole request within 10 s, the answer within 30 s; a connection may be
// silent for 60 s.
func NewServer(h http.Handler) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    headerBytesMax,
	}
}

// profileMax is the longest answer to an operator: a CPU profile takes 30 s and more.
const profileMax = 2 * time.Minute

// NewOpsServer is NewServer for operators, who may wait longer for an answer.
func NewOpsServer(h http.Handler) *http.Server {
	srv := NewServer(h)
	srv.WriteTimeout = profileMax
	return srv
}

// HTTP serves on ln until intake ends, then answers what is in flight; the end of work
// closes the connections. The contexts of requests end with work, so a handler that waits
// for something should also heed intake. Both ln and srv belong to the part, which runs once.
func HTTP(ln net.Listener, srv *http.Server) Part {
	const op = "run.HTTP"
	return func(intake, work context.Context) error {
		if srv.BaseContext == nil {
			srv.BaseContext = func(net.Listener) context.Context { return work }
		}
		served := make(chan error, 1)
		go func() { served <- srv.Serve(freshListener{ln}) }()
		select {
		case err := <-served:
			return fmt.Errorf("%s: %v: %w", op, ln.Addr(), err)
		case <-intake.Done():
		}
		err := srv.Shutdown(work)
		if err != nil {
			err = fmt.Errorf("%s: %v: %w", op, ln.Addr(), errors.Join(err, srv.Close()))
		}
		<-served //nolint:errcheck // it says that the server was shut down
		return err
	}
}
