package runbook

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// anchors are the sections in their order. Alerts name them.
var anchors = []string{
	"before-a-sale", "during-a-sale", "after-a-sale", "reading-the-stream", "on-a-cluster", "slow-redis", "stuck-orders", "dead-letters",
	"redis-lost", "redis-at-risk", "database-slow", "hot-voucher", "wrong-stock", "lost-orders", "slow-answers",
	"refusals-and-errors", "roll-back", "capacity",
}

func TestRunbook(t *testing.T) {
	t.Parallel()
	sections := readPage(t)
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.anchor
	}
	require.Equal(t, append([]string{"runbook"}, anchors...), names)
	require.NoError(t, unset(sections, scenes))

	playAll(t, newStack(t), slices.DeleteFunc(sections, func(one section) bool { return one.anchor == "on-a-cluster" }))
}

// On a cluster the same commands, as they stand, tell of the voucher's partition.
func TestCluster(t *testing.T) {
	t.Parallel()
	here := []string{"runbook", "reading-the-stream", "on-a-cluster", "stuck-orders"}
	playAll(t, newCluster(t), slices.DeleteFunc(readPage(t), func(one section) bool { return !slices.Contains(here, one.anchor) }))
}

func readPage(t *testing.T) []section {
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	sections, err := read(string(text))
	require.NoError(t, err)
	return sections
}

func playAll(t *testing.T, s *stack, sections []section) {
	for _, one := range sections {
		if !t.Run(one.anchor, func(t *testing.T) { play(t, s, one) }) {
			t.FailNow() // the next sections would begin in a state that is not theirs
		}
	}
}

// play runs the blocks of a section, each after its step of the scene.
func play(t *testing.T, s *stack, one section) {
	s.T = t
	steps := scenes[one.anchor]
	for i, b := range one.blocks {
		if i < len(steps) && steps[i] != nil {
			steps[i](s)
		}
		require.NoError(t, s.shell.run(t.Context(), b))
	}
}

// unset names a section that has commands and no scene, or a scene with more steps than the
// section has blocks.
func unset(sections []section, scenes map[string][]step) error {
	blocks := map[string]int{}
	for _, one := range sections {
		blocks[one.anchor] = len(one.blocks)
		if _, has := scenes[one.anchor]; !has && len(one.blocks) > 0 {
			return fmt.Errorf("%s has commands and no scene", one.anchor)
		}
	}
	for anchor, steps := range scenes {
		if len(steps) > blocks[anchor] || blocks[anchor] == 0 {
			return fmt.Errorf("%s has %d blocks and a scene of %d steps", anchor, blocks[anchor], len(steps))
		}
	}
	return nil
}

func TestUnset(t *testing.T) {
	one := []section{{anchor: "a", blocks: []block{{shell: "true"}}}, {anchor: "b"}}
	nothing := func(*stack) {}
	require.NoError(t, unset(one, map[string][]step{"a": nil}))
	require.NoError(t, unset(one, map[string][]step{"a": {nothing}}))
	require.ErrorContains(t, unset(one, nil), "a has commands and no scene")
	require.ErrorContains(t, unset(one, map[string][]step{"a": {nothing, nothing}}), "a scene of 2 steps")
	require.ErrorContains(t, unset(one, map[string][]step{"a": nil, "b": nil}), "b has 0 blocks")
}
