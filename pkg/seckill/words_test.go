package seckill

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseID(t *testing.T) {
	for _, id := range []int64{1, 9007199254740992, 9007199254740993, math.MaxInt64} {
		u, err := ParseUserID(UserID(id).String())
		require.NoError(t, err)
		require.EqualValues(t, id, u)
		text, err := json.Marshal(OrderID(id))
		require.NoError(t, err)
		require.Equal(t, `"`+OrderID(id).String()+`"`, string(text), "a string: B7")
		var back OrderID
		require.NoError(t, json.Unmarshal(text, &back))
		require.EqualValues(t, id, back)
	}
	for _, text := range []string{"", "0", "-1", "+7", "007", " 7", "7 ", "1.5", "1e3", "0x7", "abc", "９", "9223372036854775808", strings.Repeat("9", 1<<20)} {
		_, err := ParseVoucherID(text)
		require.ErrorIs(t, err, Invalid, "%.20q", text)
		require.Less(t, len(err.Error()), 300)
	}
}

func TestError(t *testing.T) {
	err := error(&Error{Op: "redisstore.Admit", Code: Unavailable, Err: io.EOF})
	require.EqualError(t, err, "redisstore.Admit: UNAVAILABLE: EOF")
	require.ErrorIs(t, err, Unavailable)
	require.ErrorIs(t, err, io.EOF)
	require.NotErrorIs(t, err, Internal)
	require.EqualError(t, &Error{Op: "op", Code: SoldOut}, "op: SOLD_OUT")
	for want, err := range map[Code]error{"": nil, Unavailable: err, SoldOut: SoldOut, Internal: errors.New("bare")} {
		require.Equal(t, want, CodeOf(err))
	}
	seen := map[Code]bool{}
	for _, c := range Codes() {
		require.False(t, seen[c], c)
		seen[c] = true
	}
}

func TestVoucherValidate(t *testing.T) {
	now := time.Now()
	good := Voucher{Title: "茶", Currency: "CNY", Total: 1, Begin: now, End: now.Add(time.Millisecond)}
	require.NoError(t, good.Validate())
	for name, spoil := range map[string]func(v *Voucher){
		"blank title":             func(v *Voucher) { v.Title = " \u3000" },
		"title that is no UTF-8":  func(v *Voucher) { v.Title = "\xff" },
		"title with a NUL":        func(v *Voucher) { v.Title = "a\x00b" },
		"title that is too long":  func(v *Voucher) { v.Title = strings.Repeat("茶", TitleMax+1) },
		"nothing to sell":         func(v *Voucher) { v.Total = 0 },
		"more than Lua can count": func(v *Voucher) { v.Total = TotalMax + 1 },
		"price below nothing":     func(v *Voucher) { v.Price = -1 },
		"price beyond the bound":  func(v *Voucher) { v.Price = PriceMax + 1 },
		"currency in small":       func(v *Voucher) { v.Currency = "cny" },
		"currency of two letters": func(v *Voucher) { v.Currency = "CN" },
		"empty window":            func(v *Voucher) { v.End = v.Begin },
		"window before 1970":      func(v *Voucher) { v.Begin = time.UnixMilli(-1) },
		"window beyond RFC 3339":  func(v *Voucher) { v.End = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
	} {
		v := good
		spoil(&v)
		require.ErrorIs(t, v.Validate(), Invalid, name)
	}
}

// A16: a restock or a moved window needs no edge back.
func TestVoucherStateAt(t *testing.T) {
	begin := time.UnixMilli(1000)
	v := Voucher{Begin: begin, End: begin.Add(time.Second)}
	for _, c := range []struct {
		at   time.Duration
		left int64
		want State
	}{
		{-time.Millisecond, 1, Upcoming}, {0, 1, Open}, {0, 0, StateSoldOut}, {0, 1, Open},
		{time.Second - time.Millisecond, 1, Open}, {time.Second, 1, StateEnded}, {time.Second, 0, StateEnded},
	} {
		require.Equal(t, c.want, v.StateAt(begin.Add(c.at), c.left))
	}
}

func TestBooksBalance(t *testing.T) {
	require.True(t, RedisBooks{Total: 3, Stock: 1, Buyers: 2, Tickets: 2}.Balanced())
	require.True(t, RedisBooks{Total: 1, Stock: 0, Buyers: 2, Tickets: 2}.Balanced(), "more were sold than there are")
	require.False(t, RedisBooks{Total: 3, Stock: 2, Buyers: 2, Tickets: 2}.Balanced())
	require.False(t, RedisBooks{Total: 3, Stock: 1, Buyers: 2, Tickets: 1}.Balanced())
	require.False(t, RedisBooks{Total: 3, Stock: 4, Buyers: -1, Tickets: -1}.Balanced(), "both are of another type")
	sql := SQLBooks{Total: 3, Stock: 1, ByStatus: map[Status]int64{Created: 1, Paid: 1, Cancelled: 5, Rejected: 5}}
	require.EqualValues(t, 2, sql.Live())
	require.True(t, sql.Balanced())
	sql.Stock = -1
	require.False(t, sql.Balanced())
}
