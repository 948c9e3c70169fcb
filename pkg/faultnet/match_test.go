package faultnet

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCommitOf(t *testing.T) {
	const store = "INSERT INTO orders"
	m := CommitOf(store)
	say := func(line int64, text string) bool { return m(line, []byte(text)) }
	require.False(t, say(1, "COMMIT"), "of what only read")
	require.False(t, say(1, store+" VALUES (1)"))
	require.False(t, say(2, "COMMIT"), "another's, meanwhile")
	require.True(t, say(1, "COMMIT"))
	require.False(t, say(1, "COMMIT"), "of the next transaction")
	require.False(t, say(1, store))
	require.False(t, say(1, "ROLLBACK"))
	require.False(t, say(1, "COMMIT"), "after one that was rolled back")
	require.True(t, say(1, "START TRANSACTION; "+store+"; COMMIT"), "all at once")
}
