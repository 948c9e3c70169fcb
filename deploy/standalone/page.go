package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"

	"github.com/openseckill/seckill/pkg/seckill"
)

// guest is somebody to sign in as on the pages.
type guest struct {
	Name  string         `json:"name"`
	User  seckill.UserID `json:"user"`
	Role  string         `json:"role"`
	Token string         `json:"token"`
}

var guests = []guest{{Name: "Ada", User: 42}, {Name: "Ben", User: 43}, {Name: "Chen", User: 44}, {Name: "Admin", User: 1, Role: "admin"}}

const payPath = "/demo/pay"

// pages adds what only a demo has to what every api serves: tokens for the asking, and
// somebody who pays.
func (s *stack) pages(api http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.HandleFunc("GET /demo", s.offerGuests)
	mux.Handle("POST "+payPath, payer{stack: s, api: api})
	mux.Handle("GET "+rehearsalPath, s.rehearsal)
	mux.Handle("POST "+rehearsalPath, s.rehearsal)
	return mux
}

// offerGuests gives its tokens to pages of this machine's own address alone: a name that
// somebody else made lead here would make his page one of them.
func (s *stack) offerGuests(w http.ResponseWriter, r *http.Request) {
	if !isAddress(r.Host) {
		http.NotFound(w, r)
		return
	}
	all := make([]guest, len(guests))
	for i, g := range guests {
		g.Token = s.token(g.User, g.Role)
		all[i] = g
	}
	tellJSON(w, http.StatusOK, map[string]any{"users": all, "pay": payPath, "rehearsal": rehearsalPath})
}

// isAddress reports whether host is localhost or a number, with or without a port.
func isAddress(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return host == "localhost" || net.ParseIP(strings.Trim(host, "[]")) != nil
}

// payer stands for a payment service: it looks up what the buyer owes, takes no money, and
// tells the api that it came in, as a service does.
type payer struct {
	stack *stack
	api   http.Handler
}

// bodyMax is how many bytes a request may take.
const bodyMax = 1 << 10

func readJSON(w http.ResponseWriter, r *http.Request, to any) error {
	return json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyMax)).Decode(to)
}

// isAdmin asks the api, which knows whose token it is.
func (s *stack) isAdmin(r *http.Request) (bool, error) {
	token := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	a, err := newShop("http://"+local(s.httpAddr), s.token).call(r.Context(), http.MethodGet, "/api/v1/admin/log?limit=1", token, nil)
	return a.status == http.StatusOK, err
}

func (p payer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var bill struct {
		OrderID seckill.OrderID `json:"orderId"`
	}
	if err := readJSON(w, r, &bill); err != nil {
		tellJSON(w, http.StatusBadRequest, map[string]any{"code": seckill.Invalid, "title": "No order is named"})
		return
	}
	shop := newShop("http://"+local(p.stack.httpAddr), p.stack.token)
	buyer := strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	owed, err := shop.call(r.Context(), http.MethodGet, "/api/v1/orders/"+bill.OrderID.String(), buyer, nil)
	if err == nil && owed.status == http.StatusOK {
		owed, err = shop.call(r.Context(), http.MethodGet, "/api/v1/vouchers/"+owed.VoucherID.String(), buyer, nil)
	}
	switch {
	case err != nil:
		tellJSON(w, http.StatusBadGateway, map[string]any{"code": seckill.Unavailable, "title": "The shop does not answer"})
	case owed.status != http.StatusOK:
		tellJSON(w, owed.status, map[string]any{"code": owed.Code, "title": owed.Title})
	default:
		p.pay(w, r, bill.OrderID, owed.Price)
	}
}

// pay lets the api answer the buyer's page itself. The reference is the same each time: who
// clicks twice pays once.
func (p payer) pay(w http.ResponseWriter, r *http.Request, id seckill.OrderID, amount int64) {
	body := fmt.Sprintf(`{"reference":"demo-%s","amount":%d}`, id, amount)
	told := r.Clone(r.Context())
	told.URL.Path = "/api/v1/orders/" + id.String() + "/pay"
	told.Header.Set("Authorization", "Bearer "+p.stack.token(2, "service"))
	told.Body, told.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	p.api.ServeHTTP(w, told)
}

func tellJSON(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that is gone gets nothing
}
