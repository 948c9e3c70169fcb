package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
)

// client speaks just enough HTTP/1.1 to ask again and again on one connection: a whole one
// would take more CPU than the servers under test.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	body []byte
}

func newClient(conn net.Conn) *client { return &client{conn: conn, in: bufio.NewReader(conn)} }

// do sends a request and reads its answer, whose length must be told. The body is valid
// until the next call.
func (c *client) do(request []byte) (status int, body []byte, err error) {
	if _, err := c.conn.Write(request); err != nil {
		return 0, nil, err
	}
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, nil, fmt.Errorf("not an answer: %q", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, err
	}
	length, err := c.headers()
	if err != nil {
		return 0, nil, err
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	body = c.body[:length]
	_, err = io.ReadFull(c.in, body)
	return status, body, err
}

// headers reads up to the body and returns its length.
func (c *client) headers() (length int, err error) {
	length = -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		line = bytes.TrimSpace(line)
		if len(line) == 0 {
			break
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if bytes.EqualFold(name, []byte("Content-Length")) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer does not tell its length")
	}
	return length, nil
}
