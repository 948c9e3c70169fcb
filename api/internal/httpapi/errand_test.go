package httpapi_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

const replayPath = "/api/v1/admin/dead/1-0/replay"

// What is not known yet when the call is answered is in the log once it is known.
func TestLogOfWorkThatOutlastsItsRequest(t *testing.T) {
	const failed, done = `level=ERROR msg="work that outlasted its request failed" `, `level=INFO msg="work that outlasted its request is done" `
	slowly := func(err error) error { <-time.After(time.Minute); return err }
	refuses := office{apply: func() error { return slowly(down) }}
	soldOut := office{replay: func(seckill.OrderID) (seckill.Order, error) { return seckill.Order{}, slowly(seckill.SoldOut) }}
	panics := office{replay: func(seckill.OrderID) (seckill.Order, error) { panic(slowly(seckill.Internal)) }}
	for name, c := range map[string]struct {
		office             office
		sync               error
		method, path, body string
		says               string
	}{
		"a sync that fails":    {office{}, down, "POST", syncPath, "", failed + `action=sync voucher=1001 request=r-1 error="fake: UNAVAILABLE: `},
		"a sync that works":    {office{}, nil, "POST", syncPath, "", done + `action=sync voucher=1001 request=r-1`},
		"a change":             {refuses, nil, "PATCH", changePath, `{"total":150}`, failed + `action=change voucher=1001 request=r-1 error="UNAVAILABLE: The change is stored`},
		"a closing":            {refuses, nil, "POST", changePath + "/close", "", failed + `action=close voucher=1001 request=r-1`},
		"a replay":             {soldOut, nil, "POST", replayPath, "", failed + `action=replay voucher=1001 request=r-1 message=1-0 order=9223372036854775807 error=SOLD_OUT`},
		"a replay with a bug":  {panics, nil, "POST", replayPath, "", failed + `action=replay voucher=1001 request=r-1 message=1-0 order=9223372036854775807 error="httpapi.errand: INTERNAL: panic`},
		"a replay that worked": {office{replay: func(o seckill.OrderID) (seckill.Order, error) { return seckill.Order{ID: o}, slowly(nil) }}, nil, "POST", replayPath, "", done + `action=replay voucher=1001 request=r-1 message=1-0 order=9223372036854775807`},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := shop{office: c.office, voucher: found, sync: func(context.Context, seckill.VoucherID) error { return slowly(c.sync) }}
				s.dead = []seckill.Dead{{ID: seckill.DeadID{Entry: "1-0"}, Order: seckill.Order{User: 42, Voucher: 1001}}}
				r := s.open(t)
				w := r.do(c.method, c.path, c.body, jsonFrom(as(t, 1, auth.Admin))...)
				require.Equal(t, http.StatusServiceUnavailable, w.Code, w.Body)
				<-time.After(time.Minute)
				r.api.Close()
				require.Contains(t, r.log.String(), c.says)
				require.Equal(t, 1, strings.Count(r.log.String(), "outlasted"))
			})
		})
	}
}

// Whoever hung up hears nothing; whoever was answered has heard.
func TestLogOfWorkWithoutAClient(t *testing.T) {
	s := shop{voucher: found, sync: func(context.Context, seckill.VoucherID) error { return down }}
	r := s.open(t)
	r.do("POST", syncPath, "", as(t, 1, auth.Admin)...)
	require.NotContains(t, r.log.String(), "outlasted")

	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	req := httptest.NewRequestWithContext(ctx, http.MethodPost, syncPath, nil)
	req.Header.Set("Authorization", as(t, 1, auth.Admin)[1])
	r.api.Handler().ServeHTTP(httptest.NewRecorder(), req)
	require.Contains(t, r.log.String(), `level=ERROR msg="work that outlasted its request failed" action=sync voucher=1001`)
}
