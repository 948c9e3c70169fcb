package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

// receiptOf buys, and returns the receipt that came with the order.
func receiptOf(t *testing.T, r *rig, u seckill.UserID) string {
	t.Helper()
	w := r.do(http.MethodPost, "/api/v1/vouchers/1001/orders", "", as(t, u, "")...)
	require.Equal(t, http.StatusAccepted, w.Code)
	var got struct{ Receipt string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &got))
	require.NotEmpty(t, got.Receipt)
	return got.Receipt
}

// alerts is what an operator is shown once so many orders are lost.
func alerts(lost int) string {
	return fmt.Sprintf("# HELP seckill_alerts_total What a person must look at.\n# TYPE seckill_alerts_total counter\n"+
		"seckill_alerts_total{kind=\"lost\"} %d\n", lost)
}

// Neither Redis nor SQL knows the order. Its receipt finds an end for it.
func TestGetOrderByReceipt(t *testing.T) {
	const path = "/api/v1/orders/9223372036854775807"
	queued := seckill.Order{ID: largest, User: 42, Voucher: 1001, Status: seckill.Queued}
	lost := queued
	lost.Status, lost.Reason = seckill.Rejected, seckill.ReasonLost
	for name, c := range map[string]struct {
		found  seckill.Order
		err    error
		status int
		say    string // in the answer
		syncs  int32
		alerts string
	}{
		"it is queued again":                   {queued, nil, 200, `"status":"queued"`, 0, alerts(0)},
		"nothing is left":                      {lost, nil, 200, `"reason":"lost"`, 0, alerts(3)},
		"the voucher is in sync, or needs one": {queued, seckill.NotReady, 503, "NOT_READY", 1, alerts(0)},
		"another user's row is there under it": {queued, seckill.OrderNotFound, 404, "ORDER_NOT_FOUND", 0, alerts(0)},
		"Redis is away":                        {queued, down, 503, "UNAVAILABLE", 0, alerts(0)},
	} {
		t.Run(name, func(t *testing.T) {
			var syncs atomic.Int32
			count := func(context.Context, seckill.VoucherID) error { syncs.Add(1); return nil }
			s := shop{receipts: secret, vouchers: listed(onSale(1001)), sync: count, recover: func(o seckill.Order) (seckill.Order, error) {
				require.True(t, o.Same(queued))
				return c.found, c.err
			}}
			r := s.open(t)
			receipt := receiptOf(t, r, 42)
			for _, w := range []int{
				r.do(http.MethodGet, path, "", append(as(t, 42, ""), "Seckill-Receipt", receipt)...).Code,
				r.do(http.MethodGet, path+"?receipt="+url.QueryEscape(receipt), "", as(t, 42, "")...).Code,
			} {
				require.Equal(t, c.status, w)
			}
			w := r.do(http.MethodGet, path, "", append(as(t, 42, ""), "Seckill-Receipt", receipt)...)
			require.Contains(t, w.Body.String(), c.say)
			r.api.Close()
			require.Equal(t, c.syncs, syncs.Load())
			require.NoError(t, testutil.GatherAndCompare(r.reg, strings.NewReader(c.alerts), "seckill_alerts_total"))
		})
	}
}

// A receipt is of one order and one user, and never asked for where the order is known.
func TestGetOrderByWrongReceipt(t *testing.T) {
	s := shop{receipts: secret, vouchers: listed(onSale(1001))}
	r := s.open(t)
	receipt := receiptOf(t, r, 42)
	for name, c := range map[string]struct {
		path    string
		user    seckill.UserID
		receipt string
	}{
		"another user shows it":       {"/api/v1/orders/9223372036854775807", 7, receipt},
		"it is shown for another one": {"/api/v1/orders/9223372036854775806", 42, receipt},
		"it is forged":                {"/api/v1/orders/9223372036854775807", 42, "1001.AAAAAAAAAAAAAAAAAAAAAA"},
		"there is none":               {"/api/v1/orders/9223372036854775807", 42, ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := r.do(http.MethodGet, c.path, "", append(as(t, c.user, ""), "Seckill-Receipt", c.receipt)...)
			requireCode(t, w, http.StatusNotFound, seckill.OrderNotFound)
		})
	}
}
