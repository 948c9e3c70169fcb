package httpapi_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

const changePath = createPath + "/1001"

func TestChangeVoucher(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want func(v *seckill.Voucher)
		says string
	}{
		"the total":    {`{"total":150}`, func(v *seckill.Voucher) { v.Total = 150 }, `{"total":[100,150]}`},
		"the title":    {`{"title":"Coffee"}`, func(v *seckill.Voucher) { v.Title = "Coffee" }, `{"title":["Tea \u0026 cake","Coffee"]}`},
		"the begin":    {`{"beginsAt":"2026-06-01T20:30:00+08:00"}`, func(v *seckill.Voucher) { v.Begin = noon.Add(30 * time.Minute) }, `{"beginsAt":["2026-06-01T11:00:00.000Z","2026-06-01T12:30:00.000Z"]}`},
		"the end":      {`{"endsAt":"2026-06-01T14:00:00.0009Z"}`, func(v *seckill.Voucher) { v.End = noon.Add(2 * time.Hour) }, `{"endsAt":["2026-06-01T13:00:00.000Z","2026-06-01T14:00:00.000Z"]}`},
		"two of them":  {`{"title":"Coffee","total":5}`, func(v *seckill.Voucher) { v.Title, v.Total = "Coffee", 5 }, `{"title":["Tea \u0026 cake","Coffee"],"total":[100,5]}`},
		"what it was":  {`{"total":100}`, func(*seckill.Voucher) {}, ""},
		"only in part": {`{"title":"Tea & cake","total":101}`, func(v *seckill.Voucher) { v.Total = 101 }, `{"total":[100,101]}`},
	} {
		t.Run(name, func(t *testing.T) {
			var got seckill.Voucher
			s := shop{voucher: found, office: office{change: func(want seckill.Voucher) (seckill.Voucher, error) { got = want; return want, nil }}}
			w := s.open(t).do("PATCH", changePath, c.body, jsonFrom(as(t, 7, auth.Admin))...)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			if c.says == "" {
				require.Empty(t, s.deeds, "nothing changed")
				require.Equal(t, `"1"`, w.Header().Get("ETag"))
				return
			}
			want := onSale(1001)
			c.want(&want)
			require.Equal(t, want, got)
			require.Equal(t, `"2"`, w.Header().Get("ETag"))
			require.Len(t, s.deeds, 1)
			require.JSONEq(t, c.says, string(s.deeds[0].Detail))
			s.deeds[0].Detail = nil
			require.Equal(t, seckill.Deed{ID: 1, At: noon, Actor: 7, Action: seckill.VoucherChanged, Voucher: 1001, Request: "r-1"}, s.deeds[0])
		})
	}
}

func TestChangeVoucherRefuses(t *testing.T) {
	for name, c := range map[string]struct{ body, says string }{
		"no body":                    {"", "body is required"},
		"an empty change":            {"{}", "The change is empty"},
		"a price":                    {`{"price":1}`, `"location":"body.price"`},
		"a field in another case":    {`{"Total":1}`, `"location":"body.Total"`},
		"null, which names nothing":  {`{"total":null}`, "The change is empty"},
		"a total of nothing":         {`{"total":0}`, "total 0 is not from 1"},
		"a total below nothing":      {`{"total":-1}`, "total -1 is not from 1"},
		"a total past what there is": {`{"total":100000001}`, "total 100000001 is not from 1"},
		"a total past 63 bits":       {`{"total":9223372036854775808}`, `"code":"INVALID"`},
		"a total as text":            {`{"total":"5"}`, `"location":"body.total"`},
		"a total with a fraction":    {`{"total":1.5}`, `"location":"body.total"`},
		"an empty title":             {`{"title":""}`, "title is empty"},
		"a begin after the old end":  {`{"beginsAt":"2026-06-01T13:00:00Z"}`, "beginsAt 2026-06-01T13:00:00Z is not before endsAt"},
		"an end before the old one":  {`{"endsAt":"2026-06-01T11:00:00Z"}`, "is not before endsAt 2026-06-01T11:00:00Z"},
		"a window the wrong way":     {`{"beginsAt":"2026-06-02T13:00:00Z","endsAt":"2026-06-02T12:00:00Z"}`, "is not before endsAt"},
		"a time without a zone":      {`{"endsAt":"2026-06-01T11:00:00"}`, `"location":"body.endsAt"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop{voucher: found}
			w := s.open(t).do("PATCH", changePath, c.body, jsonFrom(as(t, 1, auth.Admin))...)
			requireCode(t, w, 400, seckill.Invalid)
			require.Contains(t, w.Body.String(), c.says)
			require.Empty(t, s.deeds)
		})
	}
	s := shop{}
	r := s.open(t)
	admin := jsonFrom(as(t, 1, auth.Admin))
	requireCode(t, r.do("PATCH", changePath, `{"total":5}`, admin...), 404, seckill.VoucherNotFound)
	requireCode(t, r.do("PATCH", createPath+"/01", `{"total":5}`, admin...), 400, seckill.Invalid)
	requireCode(t, r.do("PATCH", changePath, `{"total":5}`, jsonFrom(nil)...), 401, seckill.Unauthenticated)
	requireCode(t, r.do("PATCH", changePath, `{"total":5}`, jsonFrom(as(t, 1, auth.NoRole))...), 403, seckill.Forbidden)
	requireCode(t, r.do("PATCH", changePath, `{"total":5}`, jsonFrom(as(t, 1, auth.Service))...), 403, seckill.Forbidden)
}

func TestChangeVoucherByVersion(t *testing.T) {
	outdated := func(seckill.Voucher) (seckill.Voucher, error) { return seckill.Voucher{}, seckill.Outdated }
	for name, c := range map[string]struct {
		match  string
		change func(seckill.Voucher) (seckill.Voucher, error)
		status int
		code   seckill.Code
	}{
		"its own":                          {`"1"`, nil, 200, ""},
		"any":                              {`*`, nil, 200, ""},
		"one of a list":                    {`"7", "1"`, nil, 200, ""},
		"another":                          {`"2"`, nil, 412, seckill.PreconditionFailed},
		"a weak one":                       {`W/"1"`, nil, 412, seckill.PreconditionFailed},
		"no ETag":                          {`1`, nil, 400, seckill.Invalid},
		"an open one":                      {`"`, nil, 400, seckill.Invalid},
		"its own, and another is faster":   {`"1"`, outdated, 412, seckill.PreconditionFailed},
		"none, and another is faster":      {``, outdated, 409, seckill.Outdated},
		"its own, and more is held":        {`"1"`, func(seckill.Voucher) (seckill.Voucher, error) { return seckill.Voucher{}, seckill.BelowSold }, 409, seckill.BelowSold},
		"its own, and SQL does not answer": {`"1"`, func(seckill.Voucher) (seckill.Voucher, error) { return seckill.Voucher{}, down }, 503, seckill.Unavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := shop{voucher: found, office: office{change: c.change}}
			w := s.open(t).do("PATCH", changePath, `{"total":5}`, jsonFrom(as(t, 1, auth.Admin), "If-Match", c.match)...)
			if c.code == "" {
				require.Equal(t, c.status, w.Code, w.Body)
				return
			}
			requireCode(t, w, c.status, c.code)
		})
	}
}

func TestChangeVoucherTellsHowManyAreHeld(t *testing.T) {
	s := shop{voucher: found, office: office{change: func(want seckill.Voucher) (seckill.Voucher, error) {
		refused := &seckill.Error{Op: "redisstore.Cut", Code: seckill.BelowSold, Err: seckill.Held(30)}
		return want, errors.Join(refused, nil)
	}}}
	r := s.open(t)
	for language, says := range map[string]string{
		"en": `"detail":"30 units are held, queued orders included. Ask for a total of 30 or more."`,
		"zh": `"detail":"已被占用 30 份（含排队中的订单），总量不能低于 30。"`,
	} {
		w := r.do("PATCH", changePath, `{"total":5}`, jsonFrom(as(t, 1, auth.Admin), "Accept-Language", language)...)
		requireCode(t, w, 409, seckill.BelowSold)
		require.Contains(t, w.Body.String(), says)
	}
}

// It is stored and not in force: neither success nor failure would be true.
func TestChangeVoucherWhileRedisIsDown(t *testing.T) {
	s := shop{voucher: found, office: office{apply: func() error { return down }}}
	r := s.open(t)
	w := r.do("PATCH", changePath, `{"total":150}`, jsonFrom(as(t, 1, auth.Admin))...)
	requireCode(t, w, 503, seckill.Unavailable)
	require.Contains(t, w.Body.String(), "The change is stored, as version 2, and not in force yet")
	require.Len(t, s.deeds, 1)
	require.Contains(t, r.log.String(), "voucher changed in SQL and not in Redis")
}

func TestChangeVoucherOutlivesItsClient(t *testing.T) {
	s := shop{voucher: found}
	ctx, hangUp := context.WithCancel(t.Context())
	hangUp()
	req := httptest.NewRequestWithContext(ctx, http.MethodPatch, changePath, strings.NewReader(`{"total":5}`))
	for header := range slices.Chunk(jsonFrom(as(t, 1, auth.Admin)), 2) {
		req.Header.Set(header[0], header[1])
	}
	w := httptest.NewRecorder()
	s.open(t).api.Handler().ServeHTTP(w, req)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
}

func TestCloseVoucher(t *testing.T) {
	for name, c := range map[string]struct {
		now        time.Time
		begin, end time.Time // zero: it stays as it is
	}{
		"on sale":         {noon.Add(7*time.Millisecond + 900), noon.Add(-time.Hour), noon.Add(7 * time.Millisecond)},
		"not begun":       {noon.Add(-2 * time.Hour), noon.Add(-2*time.Hour - time.Millisecond), noon.Add(-2 * time.Hour)},
		"at its begin":    {noon.Add(-time.Hour), noon.Add(-time.Hour - time.Millisecond), noon.Add(-time.Hour)},
		"over":            {noon.Add(time.Hour), time.Time{}, time.Time{}},
		"over for a week": {noon.Add(200 * time.Hour), time.Time{}, time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			var got seckill.Voucher
			s := shop{voucher: found, office: office{
				clock:  func() (time.Time, error) { return c.now, nil },
				change: func(want seckill.Voucher) (seckill.Voucher, error) { got = want; return want, nil },
			}}
			w := s.open(t).do("POST", changePath+"/close", "", as(t, 1, auth.Admin)...)
			require.Equal(t, http.StatusOK, w.Code, w.Body)
			require.Equal(t, c.begin, got.Begin)
			require.Equal(t, c.end, got.End)
			if !c.end.IsZero() {
				require.Equal(t, seckill.VoucherClosed, s.deeds[0].Action)
			}
		})
	}
}

func TestCloseVoucherRefuses(t *testing.T) {
	s := shop{}
	r := s.open(t)
	closePath, admin := changePath+"/close", as(t, 1, auth.Admin)
	requireCode(t, r.do("POST", closePath, "", admin...), 404, seckill.VoucherNotFound)
	requireCode(t, r.do("POST", closePath, "", as(t, 1, auth.NoRole)...), 403, seckill.Forbidden)
	requireCode(t, r.do("POST", createPath+"/x/close", "", admin...), 400, seckill.Invalid)
	s.voucher, s.clock = found, func() (time.Time, error) { return time.Time{}, down }
	requireCode(t, r.do("POST", closePath, "", admin...), 503, seckill.Unavailable)

	tries := 0
	s.clock = nil
	s.change = func(want seckill.Voucher) (seckill.Voucher, error) {
		if tries++; tries < 3 {
			return want, seckill.Outdated
		}
		return want, nil
	}
	require.Equal(t, http.StatusOK, r.do("POST", closePath, "", admin...).Code, "it gives way to other changes, and comes again")
	tries = -100
	requireCode(t, r.do("POST", closePath, "", admin...), 409, seckill.Outdated)
}

func TestVoucherCarriesItsVersion(t *testing.T) {
	s := shop{voucher: found}
	r := s.open(t)
	require.Equal(t, `"1"`, r.do("GET", "/api/v1/vouchers/1001", "").Header().Get("ETag"))
	require.Equal(t, `"1"`, r.do("POST", syncPath, "", as(t, 1, auth.Admin)...).Header().Get("ETag"))
	require.Equal(t, seckill.VoucherSynced, s.deeds[0].Action)
	s.log = func() error { return down }
	requireCode(t, r.do("POST", syncPath, "", as(t, 1, auth.Admin)...), 503, seckill.Unavailable)
}
