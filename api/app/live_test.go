package app_test

import (
	"bufio"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/app"
)

// Whoever watches one node sees what happens on all of them.
func TestLive(t *testing.T) {
	t.Parallel()
	s := newSale(t)
	other := s.second()
	voucher := s.create("5")
	require.True(t, accepted(other.buy(voucher, 42)))
	require.True(t, accepted(s.buy(voucher, 43)))

	server := httptest.NewServer(s.api.Handler())
	t.Cleanup(server.Close)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/v1/admin/live", nil)
	require.NoError(t, err)
	token, err := app.Token(secret, 1, "admin", time.Now(), time.Hour)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := server.Client().Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)

	var sample struct {
		Traffic  struct{ Accepted int }
		Queue    struct{ Waiting int }
		Vouchers struct {
			Items []struct {
				Redis   struct{ Stock int }
				Traffic struct{ Accepted int }
			}
		}
		Processes struct{ Items []struct{ Program string } }
	}
	lines := bufio.NewScanner(res.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		require.NoError(t, json.Unmarshal([]byte(data), &sample))
		if len(sample.Processes.Items) == 2 && len(sample.Vouchers.Items) == 1 {
			break
		}
	}
	require.NoError(t, lines.Err())
	require.Equal(t, 2, sample.Traffic.Accepted)
	require.Equal(t, 2, sample.Queue.Waiting, "no worker runs")
	require.Equal(t, 3, sample.Vouchers.Items[0].Redis.Stock)
	require.Equal(t, 2, sample.Vouchers.Items[0].Traffic.Accepted)
}
