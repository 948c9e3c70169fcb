package app_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
	"github.com/openseckill/seckill/worker/app"
)

// Nobody asks for it: a lost entry, a ticket of a dead order and a stock that is wrong are
// put right by the workers themselves.
func TestMend(t *testing.T) {
	s := newStage(t, 10)
	lost := s.buy(1)[0]
	_, err := s.do("DEL", stream)
	require.NoError(t, err)
	dead := s.buy(1)[0]
	s.store(dead)
	_, err = s.raw.ExecContext(t.Context(), "UPDATE voucher_order SET status = 'cancelled' WHERE id = ?", dead.ID)
	require.NoError(t, err)
	_, err = s.raw.ExecContext(t.Context(), "UPDATE seckill_voucher SET stock = stock + 1")
	require.NoError(t, err)

	s.workFar("a", app.Options{MendEvery: 200 * time.Millisecond})
	s.awaitStatus(lost, seckill.Created, "")
	s.awaitRest(1)

	_, err = s.do("SET", "seckill:stock:"+s.voucher.String(), "3")
	require.NoError(t, err)
	s.awaitRest(1)
}
