package httpapi_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/api/internal/httpapi"
	"github.com/openseckill/seckill/pkg/obs"
	"github.com/openseckill/seckill/pkg/seckill"
)

// What stands still behind an api leaves nobody without an answer: wherever it does so, every
// operation that is described answers before the server gives up writing.
func TestEveryRouteAnswersInTime(t *testing.T) {
	for name, op := range operations(described(t)) {
		queries := []string{""}
		if op.OperationID == "getOrder" {
			queries = append(queries, "?wait=30s")
		}
		for _, query := range queries {
			t.Run(name+query, func(t *testing.T) {
				froze := true
				for good := int64(0); froze; good++ {
					froze = false // also where the test fails
					synctest.Test(t, func(t *testing.T) { froze = answersInTime(t, op, query, good) })
				}
			})
		}
	}
}

// answersInTime asks a shop that answers some calls; false: it never stood still.
func answersInTime(t *testing.T, op *huma.Operation, query string, good int64) (froze bool) {
	f := &frozen{shop: busyShop(), good: good}
	r := f.open(t)
	id := strconv.FormatInt(largest, 10)
	path := strings.NewReplacer("{voucherId}", id, "{orderId}", id, "{id}", "1-0").Replace(op.Path) + query
	var body []byte
	if op.RequestBody != nil {
		var err error
		body, err = json.Marshal(op.RequestBody.Content["application/json"].Example)
		require.NoError(t, err)
	}
	role, most := auth.NoRole, 6*time.Second
	switch {
	case strings.HasPrefix(op.Path, "/api/v1/admin/"):
		role, most = auth.Admin, 20*time.Second
	case op.OperationID == "payOrder":
		role = auth.Service
	case op.OperationID == "getOrder" && query != "":
		most += 30 * time.Second // as it was asked to
	}
	began := time.Now()
	w := r.do(op.Method, path, string(body), jsonFrom(as(t, 42, role))...)
	froze = f.calls.Load() > good
	if !froze || w.Code != http.StatusServiceUnavailable {
		require.Less(t, w.Code, 300, w.Body) // what counts was done
	} else {
		require.Contains(t, w.Body.String(), `"code":"UNAVAILABLE"`)
		require.NotEmpty(t, w.Header().Get("Retry-After"))
	}
	if froze {
		require.LessOrEqual(t, time.Since(began), most)
	}
	return froze
}

// busyShop has something to answer to every operation, and order and message of largest.
func busyShop() *shop {
	paid, sale := row(largest, 42, largest, seckill.Paid), onSale(largest)
	var got seckill.Voucher
	var key string
	s := &shop{
		vouchers: listed(sale), tickets: holding(42, largest, largest), order: stored(paid), rows: []seckill.Order{paid},
		voucher: func(seckill.VoucherID) (seckill.Voucher, error) { return sale, nil }, create: creating(&got, &key, true),
	}
	s.audit = func() (seckill.Report, error) {
		return seckill.Report{Voucher: largest, SQL: seckill.SQLBooks{ByStatus: map[seckill.Status]int64{}}, Drift: []seckill.Finding{}}, nil
	}
	s.life.cancel = stored(paid)
	s.life.pay = func(seckill.OrderID, seckill.Payment) (seckill.Order, error) { return paid, nil }
	s.dead = []seckill.Dead{{ID: seckill.DeadID{Entry: "1-0"}, Order: paid}}
	s.samples = make(chan string)
	close(s.samples)
	return s
}

func (f *frozen) open(t *testing.T) *rig {
	r := &rig{t: t, clock: newClock(noon), log: new(bytes.Buffer), reg: prometheus.NewRegistry()}
	r.meter = obs.NewAdmission(r.reg)
	r.api = httpapi.New(httpapi.Deps{
		Auth: auth.NewVerifier(auth.Options{Secret: secret, Now: r.clock.now}), Gate: f, Sale: f, Orders: f, Vouchers: f, Books: f, Deeds: f, IDs: f, Life: f, Giver: f, Live: f,
		Meter: r.meter, Log: slog.New(slog.NewTextHandler(r.log, nil)), Now: r.clock.now,
	})
	t.Cleanup(r.api.Close)
	return r
}
