package seckill_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/openseckill/seckill/pkg/seckill"
)

func TestParseDeadID(t *testing.T) {
	for _, id := range []seckill.DeadID{
		{Entry: "1700000000000-0"}, {Entry: "1700000000000-12"}, {Partition: 3, Entry: "1700000000000-0"},
	} {
		got, err := seckill.ParseDeadID(id.String())
		require.NoError(t, err)
		require.Equal(t, id, got)
	}
	for _, text := range []string{"", "+", "-", "1700000000000", "1-", "-1", "1-x", "01-0", "1-0-0", "x:1-0", ":1-0", "-1:1-0", "3:", "99999999999:1-0", "1-18446744073709551616"} {
		_, err := seckill.ParseDeadID(text)
		require.ErrorIs(t, err, seckill.Invalid, text)
	}
}
