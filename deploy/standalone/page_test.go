package main

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestTokensAreForPagesOfThisMachine(t *testing.T) {
	s := &stack{secret: []byte(strings.Repeat("s", 32))}
	for host, status := range map[string]int{
		"127.0.0.1:8080": 200, "localhost:8080": 200, "192.168.1.7:8080": 200, "[::1]:8080": 200, "[::1]": 200, "localhost": 200,
		"rebound.example:8080": 404, "localhost.example": 404, "": 404,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodGet, "/demo", nil)
		r.Host = host
		s.pages(http.NotFoundHandler()).ServeHTTP(w, r)
		require.Equal(t, status, w.Code, host)
		require.Equal(t, status == 200, strings.Contains(w.Body.String(), `"token":"`), host)
		require.Empty(t, w.Header().Get("Access-Control-Allow-Origin"))
	}
}

func TestPay(t *testing.T) {
	s, err := newStack(t.Context(), options{workers: 1, httpAddr: "127.0.0.1:0", opsAddr: "127.0.0.1:0", payTimeout: time.Minute}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	served := make(chan error, 1)
	go func() { served <- s.Run(t.Context(), context.WithoutCancel(t.Context())) }()
	t.Cleanup(func() {
		require.NoError(t, <-served)
		require.NoError(t, s.Close())
	})
	shop := newShop("http://"+s.httpAddr, s.token)
	v, err := shop.create(t.Context(), s.token(1, "admin"), "Tea", 10, time.Now().Add(-time.Second), time.Hour)
	require.NoError(t, err)
	buyer := s.token(42, "")
	got, err := shop.call(t.Context(), "POST", "/api/v1/vouchers/"+v.String()+"/orders", buyer, nil)
	require.NoError(t, err)
	order := "/api/v1/orders/" + got.OrderID.String()
	stored, err := shop.call(t.Context(), "GET", order+"?wait=30s", buyer, nil)
	require.NoError(t, err)
	require.Equal(t, seckill.Created, stored.order)

	pay := func(token, body string) answer {
		a, err := shop.call(t.Context(), "POST", payPath, token, strings.NewReader(body))
		require.NoError(t, err)
		return a
	}
	bill := `{"orderId":"` + got.OrderID.String() + `"}`
	require.Equal(t, http.StatusUnauthorized, pay("", bill).status)
	require.Equal(t, http.StatusNotFound, pay(s.token(43, ""), bill).status, "another buyer's order")
	require.Equal(t, http.StatusBadRequest, pay(buyer, "no order").status)
	require.Equal(t, seckill.Paid, pay(buyer, bill).order)
	require.Equal(t, seckill.Paid, pay(buyer, bill).order, "who clicks twice pays once")
}
