package main

import (
	"encoding/xml"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

var quickPatience = patience{ask: time.Minute, store: 20 * time.Second, steady: 300 * time.Millisecond, claim: 300 * time.Millisecond, quiet: 3 * time.Second}

// A short round of each way is part of the checks; here is only what all of them share.
func testAdmit(t *testing.T, g *ground) {
	b := &admitting{
		ground: g, contenders: []contender{contenders[0], contenders[len(contenders)-1]},
		set: settings{N: 60, Rounds: 1}, wait: quickPatience, kills: 1, progress: io.Discard,
	}
	found, err := b.run(t.Context())
	require.NoError(t, err)
	require.Len(t, found.Ways, 3, "raw commands, gin, ours")
	ours := found.Ways[2]
	require.Equal(t, law{}, ours.law)
	require.Zero(t, *ours.Lost)
	require.Positive(t, ours.StoredP99)
	require.Positive(t, ours.Depth)
	for _, l := range found.Ways {
		require.Positive(t, l.Accepted, l.Name)
		require.Positive(t, l.RedisCPU, l.Name)
		require.NotEmpty(t, l.Checked, l.Name)
	}
	testChart(t, found)
}

func testChart(t *testing.T, r report) {
	path := filepath.Join(t.TempDir(), "deep", "chart.svg")
	require.NoError(t, writeChart(path, r))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(text), `<g class="ours">`)
	for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}

func TestClientReadsOneAnswerAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		name   string
		answer string
		status int
		body   string
		fault  string
	}{
		{"with a body", "HTTP/1.1 202 Accepted\r\nX: y\r\ncontent-length: 3\r\n\r\nabc", 202, "abc", ""},
		{"without a body", "HTTP/1.1 409 Conflict\r\nContent-Length: 0\r\n\r\n", 409, "", ""},
		{"of a length that is not told", "HTTP/1.1 200 OK\r\n\r\n", 0, "", "does not tell its length"},
		{"that is no answer", "hello\r\n", 0, "", "not an answer"},
		{"that breaks off", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc", 0, "", io.ErrUnexpectedEOF.Error()},
	} {
		t.Run(c.name, func(t *testing.T) {
			near, far := net.Pipe()
			defer near.Close()
			go func() {
				defer far.Close()
				for range 2 { // the same answer to each of two questions
					if _, err := far.Read(make([]byte, 64)); err != nil {
						return
					}
					if _, err := io.WriteString(far, c.answer); err != nil || c.fault != "" {
						return
					}
				}
			}()
			asker := newClient(near)
			for range 2 {
				status, body, err := asker.do([]byte("POST / HTTP/1.1\r\n\r\n"))
				if c.fault != "" {
					require.ErrorContains(t, err, c.fault)
					return
				}
				require.NoError(t, err)
				require.Equal(t, c.status, status)
				require.Equal(t, c.body, string(body))
			}
		})
	}
}

func TestAnswersSumUp(t *testing.T) {
	l := &load{plan: plan{First: 10, Asks: 2}, told: []told{
		{status: 202, id: 7, took: 1}, {status: 200, took: 2},
		{status: 409, took: 3}, {status: 503, fault: "503: later", took: 4},
		{}, {}, // never asked
	}}
	a := l.answers()
	require.Equal(t, 4, a.Asked)
	require.Equal(t, []accepted{{ID: seckill.OrderID(7), User: 10}}, a.Accepted)
	require.Equal(t, 2, a.Refused)
	require.Equal(t, time.Duration(2), a.P50)
	require.Equal(t, time.Duration(4), a.P99)
	require.EqualError(t, a.check(), "1 of 4 requests failed: 503: later")
	require.EqualError(t, (&answers{}).check(), "nothing was asked")
}

func TestOrderIDOf(t *testing.T) {
	id, err := orderIDOf([]byte(`{"orderId":"123","voucherId":"9"}`))
	require.NoError(t, err)
	require.Equal(t, seckill.OrderID(123), id)
	for _, body := range []string{``, `{}`, `{"orderId":"12`, `{"orderId":"x"}`} {
		_, err := orderIDOf([]byte(body))
		require.Error(t, err, body)
	}
}

func TestPercentiles(t *testing.T) {
	all := make([]time.Duration, 200)
	for i := range all {
		all[len(all)-1-i] = time.Duration(i + 1)
	}
	p50, p99 := percentiles(all)
	require.Equal(t, []time.Duration{100, 198}, []time.Duration{p50, p99})
	p50, p99 = percentiles([]time.Duration{5})
	require.Equal(t, []time.Duration{5, 5}, []time.Duration{p50, p99})
}

func TestThousands(t *testing.T) {
	for found, text := range map[float64]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, text, thousands(found))
	}
}

func TestMissingCountsPromisesWithoutARow(t *testing.T) {
	promised := []accepted{{ID: 1}, {ID: 2}, {ID: 3}}
	require.Equal(t, 2, missing(promised, map[seckill.OrderID]bool{2: true}))
}
