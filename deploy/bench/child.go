package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"syscall"
	"time"
)

// childCommand makes this program one of those that it measures.
const childCommand = "child"

// task is what a child is to do: the first line that it reads. A second line lets it begin,
// each further one asks what it took so far; the end of its input, which comes also when its
// parent is killed, tells it to stop.
type task struct {
	Role    string `json:"role"`
	Number  int    `json:"number"` // of this child among its row's, from 1
	DSN     string `json:"dsn"`
	Redis   string `json:"redis"` // its address, or those of a cluster with commas
	Sale    sale   `json:"sale"`
	Profile string `json:"profile,omitempty"` // where its CPU profile goes
	Load    *plan  `json:"load,omitempty"`    // what a load asks for

	ClaimIdle  time.Duration `json:"claimIdle,omitempty"` // of a worker; 0: its default
	Partitions int           `json:"partitions,omitempty"`
}

// hello is a child's first line, once it is ready.
type hello struct {
	Addr string `json:"addr,omitempty"` // where it serves, if it does
}

// usage is what a child took since its begin; its last line.
type usage struct {
	CPU     time.Duration `json:"cpu"`
	Peak    int64         `json:"peak"` // bytes resident, at most
	Answers *answers      `json:"answers,omitempty"`
}

// serve is the life of a child.
func serve(ctx context.Context, in io.Reader, out io.Writer) (err error) {
	from, to := json.NewDecoder(in), json.NewEncoder(out)
	var t task
	if err := from.Decode(&t); err != nil {
		return err
	}
	r, err := openRole(ctx, t)
	if err != nil {
		return err
	}
	defer func() { err = joinClose(err, r) }()
	if err := to.Encode(greeting(r)); err != nil {
		return err
	}
	if err := from.Decode(&struct{}{}); err != nil {
		return err
	}
	before, err := taken()
	if err != nil {
		return err
	}
	intake, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		defer stop()
		for from.Decode(&struct{}{}) == nil {
			so, err := taken()
			so.CPU -= before.CPU
			if err != nil || to.Encode(so) != nil {
				return
			}
		}
	}()
	err = profiled(t.Profile, func() error { return r.Run(intake, ctx) })
	after, failed := taken()
	after.CPU -= before.CPU
	if l, ok := r.(*load); ok {
		after.Answers = l.answers()
	}
	return errors.Join(err, failed, to.Encode(after))
}

func greeting(r role) (h hello) {
	if s, ok := r.(*server); ok {
		h.Addr = s.ln.Addr().String()
	}
	return h
}

// profiled runs fn, watched if path says where the profile goes.
func profiled(path string, fn func() error) error {
	if path != "" {
		stop, err := startProfile(path)
		if err != nil {
			return err
		}
		defer stop()
	}
	return fn()
}

// taken is what this process used since it started.
func taken() (u usage, err error) {
	var r syscall.Rusage
	err = syscall.Getrusage(syscall.RUSAGE_SELF, &r)
	u = usage{CPU: cpuOf(r), Peak: r.Maxrss}
	if runtime.GOOS != "darwin" {
		u.Peak *= 1024 // everywhere else it is in KB
	}
	return u, err
}

func cpuOf(r syscall.Rusage) time.Duration {
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

func startProfile(path string) (stop func(), err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return func() { pprof.StopCPUProfile(); file.Close() }, nil
}

// child is a process of ours that is measured.
type child struct {
	hello
	process *os.Process
	in      io.WriteCloser
	lines   *json.Decoder
	done    chan struct{} // closed when it has ended
	err     error         // of the process, once done
	last    *usage        // its last line, once read
}

// startChild starts a child and returns when it is ready to begin.
func startChild(ctx context.Context, t task) (c *child, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, self, childCommand)
	cmd.Stderr = os.Stderr
	c = &child{done: make(chan struct{})}
	if c.in, err = cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, to := io.Pipe() // not StdoutPipe: Wait would close it under a reader
	cmd.Stdout, c.lines = to, json.NewDecoder(out)
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.process = cmd.Process
	go func() {
		c.err = cmd.Wait()
		close(c.done)
		_ = to.Close() // it never fails
	}()
	if err := json.NewEncoder(c.in).Encode(t); err != nil {
		return nil, c.failed(err)
	}
	if err := c.lines.Decode(&c.hello); err != nil {
		return nil, c.failed(err)
	}
	return c, nil
}

func (c *child) begin() error {
	_, err := io.WriteString(c.in, "{}\n")
	return err
}

// soFar is what a child that runs took since its begin.
func (c *child) soFar() (u usage, err error) {
	if err := c.begin(); err != nil { // any line asks
		return u, err
	}
	if err := c.lines.Decode(&u); err != nil {
		return u, c.failed(err)
	}
	return u, nil
}

// kill ends a child as a crash would.
func (c *child) kill() error {
	err := c.process.Kill()
	c.end()
	return err
}

// wait waits until a child that ends by itself has done its work.
func (c *child) wait(context.Context) error {
	if c.last != nil {
		return nil
	}
	c.last = &usage{}
	if err := c.lines.Decode(c.last); err != nil {
		return c.failed(err)
	}
	return nil
}

// usage ends a child and returns what it took.
func (c *child) usage(ctx context.Context) (usage, error) {
	c.in.Close()
	if err := c.wait(ctx); err != nil {
		return usage{}, err
	}
	<-c.done
	return *c.last, c.err
}

// end lets a child go, whatever it does.
func (c *child) end() {
	c.in.Close()
	for c.lines.Decode(&usage{}) == nil { // nobody listening would keep it from ending
	}
	<-c.done
}

// failed is why a child said nothing.
func (c *child) failed(err error) error {
	c.end()
	return fmt.Errorf("a child failed: %w", errors.Join(err, c.err))
}
