package runbook

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// section is one of the page, by the anchor that alerts name.
type section struct {
	anchor string
	blocks []block
}

// block is commands, and what the page shows of their output.
type block struct {
	line  int // of the page, where it begins
	shell string
	shown []string
}

var (
	heading = regexp.MustCompile(`^#+ (.+)$`)
	noWord  = regexp.MustCompile(`[^a-z0-9 -]`)
)

// anchor is what GitHub makes of a heading.
func anchor(title string) string {
	return strings.ReplaceAll(noWord.ReplaceAllString(strings.ToLower(title), ""), " ", "-")
}

// read finds the sections, and the `sh` blocks with the `text` block that follows each.
func read(text string) (found []section, err error) {
	lines := strings.Split(text, "\n")
	for i := 0; i < len(lines); i++ {
		if title := heading.FindStringSubmatch(lines[i]); title != nil {
			found = append(found, section{anchor: anchor(title[1])})
		}
		language, fenced := strings.CutPrefix(lines[i], "```")
		if !fenced {
			continue
		}
		end := slices.Index(lines[i+1:], "```") + i + 1
		if end == i {
			return nil, fmt.Errorf("line %d: the block does not end", i+1)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("line %d: the block is in no section", i+1)
		}
		if err := found[len(found)-1].add(i+1, language, lines[i+1:end]); err != nil {
			return nil, err
		}
		i = end
	}
	return found, nil
}

func (s *section) add(line int, language string, body []string) error {
	switch language {
	case "sh":
		s.blocks = append(s.blocks, block{line: line, shell: strings.Join(body, "\n")})
	case "text":
		if len(s.blocks) == 0 || s.blocks[len(s.blocks)-1].shown != nil {
			return fmt.Errorf("line %d: this output belongs to no commands", line)
		}
		s.blocks[len(s.blocks)-1].shown = body
	case "console": // other systems' commands, which cannot run here
	default:
		return fmt.Errorf("line %d: a block of %q would not be run", line, language)
	}
	return nil
}

var spaces = regexp.MustCompile(`\s+`)

// missing returns the first of the lines shown that the output does not have, in their order;
// "" where it has all. "…" stands for anything, and any space for as much as there is.
func missing(shown []string, output string) string {
	lines := strings.Split(output, "\n")
	for _, want := range shown {
		parts := strings.Split(tidy(want), "…")
		for i, part := range parts {
			parts[i] = regexp.QuoteMeta(part)
		}
		like := regexp.MustCompile("^" + strings.Join(parts, ".*") + "$")
		at := slices.IndexFunc(lines, func(line string) bool { return like.MatchString(tidy(line)) })
		if at < 0 {
			return want
		}
		lines = lines[at+1:]
	}
	return ""
}

func tidy(line string) string { return strings.TrimSpace(spaces.ReplaceAllString(line, " ")) }

func TestRead(t *testing.T) {
	const fence = "```"
	found, err := read("# A page\n## Redis at risk\n" + fence + "sh\ntrue\ndate\n" + fence + "\nOne sees\n" + fence + "text\nx …\n" + fence + "\n## Next, please\n")
	require.NoError(t, err)
	require.Equal(t, []section{
		{anchor: "a-page"},
		{anchor: "redis-at-risk", blocks: []block{{line: 3, shell: "true\ndate", shown: []string{"x …"}}}},
		{anchor: "next-please"},
	}, found)
	for name, text := range map[string]string{
		"an end is missing":                "# A\n" + fence + "sh\ntrue\n",
		"no section":                       fence + "sh\ntrue\n" + fence,
		"output without commands":          "# A\n" + fence + "text\nx\n" + fence,
		"a language that would not be run": "# A\n" + fence + "bash\ntrue\n" + fence,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := read(text)
			require.Error(t, err)
		})
	}
}

func TestMissing(t *testing.T) {
	const output = "1) \"name\"\n2) \"host-7-abc\"\n   three   words\n"
	for _, row := range []struct {
		name  string
		shown []string
		want  string
	}{
		{"all in order", []string{`1) "name"`, `2) "host-…"`}, ""},
		{"a line in between is left out", []string{`1) "name"`, "three words"}, ""},
		{"an order that is not that of the page", []string{"three words", `1) "name"`}, `1) "name"`},
		{"a line that is not there", []string{`1) "nam"`}, `1) "nam"`},
		{"a pattern is no pattern", []string{"t.ree words"}, "t.ree words"},
	} {
		t.Run(row.name, func(t *testing.T) { require.Equal(t, row.want, missing(row.shown, output)) })
	}
}
