package httpapi_test

import (
	"bufio"
	"context"
	"io"
	"iter"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

const livePath = "/api/v1/admin/live"

// Watch yields what a test sends; without a channel one sample is all there is.
func (o *office) Watch(ctx context.Context) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if o.samples == nil {
			yield([]byte(`{"at":"0"}`))
			return
		}
		for {
			select {
			case sample, more := <-o.samples:
				if !more || !yield([]byte(sample)) {
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}
}

func TestWatchSale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := shop{office: office{samples: make(chan string)}}
		client, stop := served(t, s.openAt(t, newClock(noon)))
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api"+livePath, nil)
		require.NoError(t, err)
		header := as(t, 1, auth.Admin)
		req.Header.Set(header[0], header[1])
		began := time.Now()
		go func() { s.samples <- `{"at":"1"}` }()
		res, err := client.Do(req)
		require.NoError(t, err)
		defer res.Body.Close()
		require.Equal(t, "text/event-stream", res.Header.Get("Content-Type"))
		require.Equal(t, "no-store", res.Header.Get("Cache-Control"))
		lines := bufio.NewReader(res.Body)
		require.Equal(t, "event: sample\ndata: {\"at\":\"1\"}\n", event(t, lines))
		<-time.After(time.Minute) // far more than a whole answer may take
		s.samples <- `{"at":"2"}`
		require.Equal(t, "event: sample\ndata: {\"at\":\"2\"}\n", event(t, lines))

		_, err = lines.ReadByte()
		require.ErrorIs(t, err, io.EOF, "whoever watches on has to show a token again")
		require.Equal(t, 15*time.Minute, time.Since(began))
		require.NoError(t, stop())
	})
}

// No cookie speaks for an admin: a page of another site can ask, and is nobody.
func TestWatchSaleIsForAdmins(t *testing.T) {
	s := shop{}
	r := s.open(t)
	requireCode(t, r.do("GET", livePath, "", "Cookie", "token=x", "Sec-Fetch-Site", "cross-site"), 401, seckill.Unauthenticated)
	requireCode(t, r.do("GET", livePath, "", as(t, 1, auth.NoRole)...), 403, seckill.Forbidden)
	requireCode(t, r.do("GET", livePath, "", as(t, 1, auth.Service)...), 403, seckill.Forbidden)
	for _, path := range []string{changePath + "/close", changePath + "/sync", deadPath + "/1-0/drop", deadPath + "/1-0/replay"} {
		w := r.do("POST", path, "", "Cookie", "token=x", "Sec-Fetch-Site", "cross-site", "Origin", "https://elsewhere.example")
		requireCode(t, w, 401, seckill.Unauthenticated)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
}
