package httpapi

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestMemoAsksOnceForAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		loads := 0
		m := newMemo(time.Now, func(context.Context, int) (int, error) {
			loads++
			<-time.After(time.Second)
			return loads, nil
		})
		got := make(chan int)
		for range 100 {
			go func() { v, _ := m.get(t.Context(), 1); got <- v }()
		}
		for range 100 {
			require.Equal(t, 1, <-got)
		}
		<-time.After(memoLife)
		v, err := m.get(t.Context(), 1)
		require.NoError(t, err)
		require.Equal(t, 2, v)
	})
}

func TestMemoWaitsNoLongerThanItsCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemo(time.Now, func(ctx context.Context, _ int) (int, error) {
			<-ctx.Done() // a load is bounded, also when nobody cancels it
			return 0, seckill.Unavailable
		})
		go func() { _, _ = m.get(t.Context(), 1) }()
		synctest.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		_, err := m.get(ctx, 1)
		require.ErrorIs(t, err, seckill.Unavailable)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		<-time.After(loadMax)
	})
}

// The caller who began a load may hang up; those who wait for it may not pay for that.
func TestMemoLoadOutlivesWhoBeganIt(t *testing.T) {
	m := newMemo(time.Now, func(ctx context.Context, _ int) (int, error) { return 7, ctx.Err() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	v, err := m.get(ctx, 1)
	require.NoError(t, err)
	require.Equal(t, 7, v)
}

func TestMemoRemembersWhatDoesNotExist(t *testing.T) {
	loads := 0
	m := newMemo(time.Now, func(context.Context, int) (int, error) { loads++; return 0, seckill.VoucherNotFound })
	for range 3 {
		_, err := m.get(t.Context(), 1)
		require.ErrorIs(t, err, seckill.VoucherNotFound)
	}
	require.Equal(t, 1, loads)
}

func TestMemoPanicReachesAllWhoWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMemo(time.Now, func(context.Context, int) (int, error) {
			<-time.After(time.Second)
			panic("boom")
		})
		panicked := make(chan any)
		go func() {
			defer func() { panicked <- recover() }()
			_, _ = m.get(t.Context(), 1)
		}()
		synctest.Wait()
		waiting := make(chan error)
		go func() { _, err := m.get(t.Context(), 1); waiting <- err }()
		require.Equal(t, "boom", <-panicked)
		require.ErrorIs(t, <-waiting, seckill.Internal)
	})
}

func TestMemoIsBounded(t *testing.T) {
	m := newMemo(time.Now, func(context.Context, int) (int, error) { return 0, nil })
	for i := range memoMax + 5 {
		_, err := m.get(t.Context(), i)
		require.NoError(t, err)
	}
	require.LessOrEqual(t, len(m.answers), memoMax)
}

func TestMemoForgetsAnOutage(t *testing.T) {
	outage := errors.New("down")
	m := newMemo(time.Now, func(context.Context, int) (int, error) { return 0, outage })
	_, err := m.get(t.Context(), 1)
	require.Error(t, err)
	outage = nil
	_, err = m.get(t.Context(), 1)
	require.NoError(t, err)
}
