package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestLateList(t *testing.T) {
	_, sql, v := environment(t)
	code, out := execute(t.Context(), "late", "list")
	require.Equal(t, 0, code)
	require.Empty(t, out)
	for id := seckill.OrderID(1 << 60); id < 1<<60+2; id++ {
		_, err := sql.Reject(t.Context(), seckill.Order{ID: id, User: 42, Voucher: v.ID}, seckill.ReasonLost)
		require.NoError(t, err)
		_, err = sql.Pay(t.Context(), id, seckill.Payment{Reference: "pay-" + id.String(), Amount: 7})
		require.ErrorIs(t, err, seckill.CodeRejected)
	}

	code, out = execute(t.Context(), "late", "list")
	require.Equal(t, 0, code)
	require.Regexp(t, `^REFERENCE +ORDER +AMOUNT +PAID\npay-1152921504606846\d+ +11529\d+ +7 +20\d\d-`, out)

	code, out = execute(t.Context(), "late", "list", "--limit", "1", "-o", "json")
	require.Equal(t, 0, code)
	var line struct {
		Reference, OrderID string
		Amount             int64
		PaidAt             time.Time
	}
	require.NoError(t, json.Unmarshal([]byte(out), &line), out)
	require.Equal(t, "pay-"+line.OrderID, line.Reference)
	require.EqualValues(t, 7, line.Amount)
	require.False(t, line.PaidAt.IsZero())

	code, _ = execute(t.Context(), "late", "list", "--limit", "0")
	require.Equal(t, 2, code)
}
