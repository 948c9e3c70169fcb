package pace

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/obs"
)

func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := NewBackoff()
		for i := range 100 {
			began := time.Now()
			require.NoError(t, b.Wait(t.Context()))
			took := time.Since(began)
			require.LessOrEqual(t, took, 3*time.Second)
			if i == 0 {
				require.LessOrEqual(t, took, 75*time.Millisecond)
			}
			if i > 10 {
				require.GreaterOrEqual(t, took, time.Second, "an outage costs almost nothing")
			}
		}
	})
}

func TestAround(t *testing.T) {
	for range 1000 {
		d := Around(10 * time.Second)
		require.GreaterOrEqual(t, d, 8*time.Second)
		require.LessOrEqual(t, d, 12*time.Second)
	}
	require.Equal(t, time.Second, Between(time.Second, time.Second))
}

func TestTrouble(t *testing.T) {
	var out bytes.Buffer
	meter := obs.NewWorker(prometheus.NewRegistry())
	failing := func() float64 { return testutil.ToFloat64(meter.Failing("read")) }
	trouble := NewTrouble(slog.New(slog.NewTextHandler(&out, nil)), meter, "read")
	trouble.Note(nil)
	require.Empty(t, out.String(), "what works is not news")
	for range 1000 {
		trouble.Note(errors.New("EOF"))
	}
	require.Equal(t, 1.0, failing())
	trouble.Note(nil)
	trouble.Note(nil)
	require.Zero(t, failing())
	require.Equal(t, 2, strings.Count(out.String(), "\n"), out.String())
	require.Contains(t, out.String(), "what=read err=EOF")
}
