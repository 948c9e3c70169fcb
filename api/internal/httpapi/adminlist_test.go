package httpapi_test

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/api/internal/auth"
	"github.com/openseckill/seckill/pkg/seckill"
)

const deadPath = "/api/v1/admin/dead"

// requireAnswer checks a good answer to the byte.
func requireAnswer(t *testing.T, want string, r *rig, method, path string, status int) {
	t.Helper()
	w := r.do(method, path, "", as(t, 1, auth.Admin)...)
	require.Equal(t, status, w.Code, w.Body)
	require.Equal(t, want+"\n", w.Body.String())
}

func TestListAdminVouchers(t *testing.T) {
	s := shop{vouchers: listed(onSale(1001), onSale(1002)), left: leaving(55)}
	r := s.open(t)
	w := r.do("GET", createPath+"?limit=1", "", as(t, 1, auth.Admin)...)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.Contains(t, w.Body.String(), `"total":100,"left":55,`)
	require.Contains(t, w.Body.String(), `"sold":40,"version":1,"epoch":1}],"next":"1001"}`)
	requireCode(t, r.do("GET", createPath+"?cursor=x", "", as(t, 1, auth.Admin)...), 400, seckill.Invalid)
	requireCode(t, r.do("GET", createPath, "", as(t, 1, auth.NoRole)...), 403, seckill.Forbidden)
}

func TestAuditVoucher(t *testing.T) {
	s := shop{}
	r := s.open(t)
	requireCode(t, r.do("GET", changePath+"/audit", "", as(t, 1, auth.Admin)...), 404, seckill.VoucherNotFound)
	s.audit = func() (seckill.Report, error) {
		return seckill.Report{
			Voucher: 1001, Waiting: 2,
			Redis: seckill.RedisBooks{State: "open", Total: 10, Stock: 8, Buyers: 2, Tickets: 2, Version: 1},
			SQL:   seckill.SQLBooks{Total: 10, Stock: 10, Version: 1, ByStatus: map[seckill.Status]int64{}},
			Drift: []seckill.Finding{},
		}, nil
	}
	requireAnswer(t, `{"voucherId":"1001","redis":{"state":"open","total":10,"stock":8,"buyers":2,"tickets":2,"version":1,"beginMillis":0,"endMillis":0},`+
		`"sql":{"total":10,"stock":10,"byStatus":{},"releaseDue":0,"version":1,"beginMillis":0,"endMillis":0},"waiting":2,"pending":0,"buried":0,"releaseDue":0,"drift":[],"unlisted":0,"balanced":true,"atRest":false}`,
		r, "GET", changePath+"/audit", 200)
}

func TestListDeeds(t *testing.T) {
	s := shop{office: office{deeds: []seckill.Deed{
		{ID: 1, At: noon, Actor: largest, Action: seckill.VoucherCreated, Voucher: 1001, Request: "a", Detail: json.RawMessage(`{"total":5}`)},
		{ID: 2, At: noon, Actor: 7, Action: seckill.DeadDropped, Request: "b", Detail: json.RawMessage(`{}`)},
	}}}
	r := s.open(t)
	requireAnswer(t, `{"items":[{"id":"2","at":"2026-06-01T12:00:00.000Z","actor":"7","action":"drop","requestId":"b","detail":{}}],"next":"2"}`,
		r, "GET", "/api/v1/admin/log?limit=1", 200)
	requireAnswer(t, `{"items":[{"id":"1","at":"2026-06-01T12:00:00.000Z","actor":"9223372036854775807","action":"create","voucherId":"1001","requestId":"a","detail":{"total":5}}]}`,
		r, "GET", "/api/v1/admin/log?cursor=2", 200)
	for _, query := range []string{"cursor=0", "cursor=x", "cursor=-1", "limit=0", "limit=101"} {
		requireCode(t, r.do("GET", "/api/v1/admin/log?"+query, "", as(t, 1, auth.Admin)...), 400, seckill.Invalid)
	}
	requireCode(t, r.do("GET", "/api/v1/admin/log", "", as(t, 1, auth.Service)...), 403, seckill.Forbidden)
}

func buried(id seckill.DeadID) seckill.Dead {
	return seckill.Dead{
		ID: id, BuriedAt: noon, Original: "1-0", Reason: seckill.ReasonWornOut, Attempts: 6,
		Order: seckill.Order{ID: largest, User: 42, Voucher: 1001}, Fields: []string{"id", "9223372036854775807"},
	}
}

const deadBody = `{"id":"3:1700000000000-0","original":"1-0","reason":"worn_out","buriedAt":"2026-06-01T12:00:00.000Z","attempts":6,` +
	`"orderId":"9223372036854775807","userId":"42","voucherId":"1001","fields":["id","9223372036854775807"]}`

func TestListDead(t *testing.T) {
	a, b := seckill.DeadID{Entry: "1700000000000-0"}, seckill.DeadID{Partition: 3, Entry: "1700000000000-0"}
	s := shop{office: office{dead: []seckill.Dead{{ID: a, BuriedAt: noon}, buried(b)}}}
	r := s.open(t)
	requireAnswer(t, `{"items":[{"id":"1700000000000-0","original":"","reason":"","buriedAt":"2026-06-01T12:00:00.000Z","attempts":0,"fields":[]}],"next":"1700000000000-0"}`,
		r, "GET", deadPath+"?limit=1", 200)
	requireAnswer(t, `{"items":[`+deadBody+`]}`, r, "GET", deadPath+"?cursor=1700000000000-0", 200)
	requireCode(t, r.do("GET", deadPath+"?cursor=7", "", as(t, 1, auth.Admin)...), 400, seckill.Invalid)
	requireCode(t, r.do("GET", deadPath, "", as(t, 1, auth.NoRole)...), 403, seckill.Forbidden)
}

func TestReplayDead(t *testing.T) {
	id := seckill.DeadID{Partition: 3, Entry: "1700000000000-0"}
	s := shop{office: office{dead: []seckill.Dead{buried(id)}}}
	r := s.open(t)
	path := deadPath + "/" + id.String() + "/replay"
	w := r.do("POST", path, "", as(t, 7, auth.Admin)...)
	require.Equal(t, http.StatusAccepted, w.Code, w.Body)
	require.Equal(t, "/api/v1/orders/9223372036854775807", w.Header().Get("Location"))
	require.Equal(t, `{"orderId":"9223372036854775807","voucherId":"1001","status":"queued"}`+"\n", w.Body.String())
	require.Len(t, s.deeds, 1)
	require.JSONEq(t, `{"message":`+deadBody+`}`, string(s.deeds[0].Detail))
	require.Equal(t, seckill.DeadReplayed, s.deeds[0].Action)

	for code, status := range map[seckill.Code]int{
		seckill.SoldOut: 409, seckill.Ended: 409, seckill.VoucherNotFound: 404, seckill.DeadNotFound: 404, seckill.NotReady: 503, seckill.Unavailable: 503,
	} {
		s.replay = func(seckill.OrderID) (seckill.Order, error) { return seckill.Order{}, code }
		requireCode(t, r.do("POST", path, "", as(t, 7, auth.Admin)...), status, code)
	}
	for code, says := range map[seckill.Code]string{seckill.AlreadyOrdered: "holds an order", seckill.Invalid: "names no user or no voucher"} {
		s.replay = func(seckill.OrderID) (seckill.Order, error) { return seckill.Order{}, code }
		w := r.do("POST", path, "", as(t, 7, auth.Admin)...)
		requireCode(t, w, 409, seckill.Conflict)
		require.Contains(t, w.Body.String(), says)
	}
	requireCode(t, r.do("POST", deadPath+"/1-1/replay", "", as(t, 7, auth.Admin)...), 404, seckill.DeadNotFound)
	requireCode(t, r.do("POST", deadPath+"/x/replay", "", as(t, 7, auth.Admin)...), 400, seckill.Invalid)
	requireCode(t, r.do("POST", path, "", as(t, 7, auth.Service)...), 403, seckill.Forbidden)
}

func TestDropDead(t *testing.T) {
	id := seckill.DeadID{Partition: 3, Entry: "1700000000000-0"}
	s := shop{office: office{dead: []seckill.Dead{buried(id)}, log: func() error { return down }}}
	r := s.open(t)
	path := deadPath + "/" + id.String() + "/drop"
	requireCode(t, r.do("POST", path, "", as(t, 7, auth.Admin)...), 503, seckill.Unavailable)
	require.Len(t, s.dead, 1, "nothing is done that is not logged")
	s.log = nil
	requireAnswer(t, deadBody, r, "POST", path, 200)
	require.Empty(t, s.dead)
	require.Equal(t, seckill.DeadDropped, s.deeds[0].Action)
	requireCode(t, r.do("POST", path, "", as(t, 7, auth.Admin)...), 404, seckill.DeadNotFound)
}
