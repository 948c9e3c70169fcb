package check

import (
	"debug/elf"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/moby/buildkit/frontend/dockerfile/instructions"
	"github.com/moby/buildkit/frontend/dockerfile/parser"
	"github.com/moby/patternmatcher"
	"github.com/moby/patternmatcher/ignorefile"
	"github.com/stretchr/testify/require"
)

const buildVersion = "v1.2.3-check"

// stages reads the build file as BuildKit does.
func stages(t *testing.T, text io.Reader) []instructions.Stage {
	t.Helper()
	parsed, err := parser.Parse(text)
	require.NoError(t, err)
	require.Empty(t, parsed.Warnings)
	found, _, err := instructions.Parse(parsed.AST, nil)
	require.NoError(t, err)
	return found
}

func dockerfile(t *testing.T) []instructions.Stage {
	t.Helper()
	f, err := os.Open("../Dockerfile")
	require.NoError(t, err)
	defer f.Close()
	found := stages(t, f)
	require.Len(t, found, 2)
	return found
}

// The last stage has two programs, the authorities, a user without a name, and nothing else.
func TestImage(t *testing.T) {
	image := dockerfile(t)[1]
	require.Equal(t, "scratch", image.BaseName)
	var user string
	var ports, files []string
	for _, c := range image.Commands {
		switch c := c.(type) {
		case *instructions.CopyCommand:
			require.Equal(t, "build", c.From)
			files = append(files, c.SourcePaths...)
		case *instructions.UserCommand:
			user = c.User
		case *instructions.ExposeCommand:
			ports = append(ports, c.Ports...)
		case *instructions.CmdCommand:
			_, err := programOf(c.CmdLine)
			require.NoError(t, err)
		default:
			require.Fail(t, "nothing can be run in an empty image", "%v", c)
		}
	}
	require.Equal(t, []string{"/etc/ssl/certs/ca-certificates.crt", "/src/out/api", "/src/out/worker"}, files)
	require.Regexp(t, `^[1-9][0-9]+:[1-9][0-9]+$`, user)
	require.Equal(t, []string{"8080", "9090", "9091"}, ports)
}

// The Go that builds is the one of go.mod or a later one, and is named to the last digit.
func TestImageIsBuiltByAKnownGo(t *testing.T) {
	require.Regexp(t, `^golang:1\.\d+\.\d+-`, dockerfile(t)[0].BaseName)
}

// The steps of the first stage run here, one by one, on what the repository and the list of
// what is left out make of the build's context.
func TestImageBuilds(t *testing.T) {
	src := t.TempDir() // WORKDIR
	environ := append(os.Environ(), "VERSION="+buildVersion, "TARGETOS="+runtime.GOOS, "TARGETARCH="+runtime.GOARCH, "GOFLAGS=")
	files := visible(t)
	for _, c := range dockerfile(t)[0].Commands {
		switch c := c.(type) {
		case *instructions.EnvCommand:
			for _, e := range c.Env {
				environ = append(environ, e.Key+"="+e.Value)
			}
		case *instructions.CopyCommand:
			require.Contains(t, []string{".", "./"}, c.DestPath)
			copied(t, files, src, c.SourcePaths)
		case *instructions.RunCommand:
			run := exec.CommandContext(t.Context(), "/bin/sh", "-c", strings.Join(c.CmdLine, " "))
			run.Dir, run.Env = src, environ
			out, err := run.CombinedOutput()
			require.NoError(t, err, "%s\n%s", c, out)
		case *instructions.WorkdirCommand:
			require.Equal(t, "/src", c.Path)
		case *instructions.ArgCommand:
		default:
			require.Fail(t, "a step that nobody takes here", "%v", c)
		}
	}
	for _, name := range []string{"api", "worker"} {
		static(t, filepath.Join(src, "out", name))
	}
}

// static tells whether a program runs where there is nothing but itself.
func static(t *testing.T, file string) {
	t.Helper()
	program, err := elf.Open(file)
	require.NoError(t, err)
	defer program.Close()
	for _, p := range program.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type, "%s needs a loader", file)
	}
	libraries, err := program.ImportedLibraries()
	require.NoError(t, err)
	require.Empty(t, libraries)
	for flag, says := range map[string]string{"--help": "Exit codes", "--version": buildVersion} {
		run := exec.CommandContext(t.Context(), file, flag)
		run.Env = []string{}
		out, err := run.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), says)
	}
}

// visible is a folder with the files of the repository that a build may see.
func visible(t *testing.T) string {
	t.Helper()
	list, err := os.Open("../Dockerfile.dockerignore")
	require.NoError(t, err)
	defer list.Close()
	patterns, err := ignorefile.ReadAll(list)
	require.NoError(t, err)
	ignored, err := patternmatcher.New(patterns)
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard").Output()
	require.NoError(t, err)
	dir := t.TempDir()
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		skip, err := ignored.MatchesOrParentMatches(name)
		require.NoError(t, err)
		source := filepath.Join("../..", name)
		if _, gone := os.Stat(source); !skip && gone == nil {
			copyFile(t, source, filepath.Join(dir, name))
		}
	}
	require.NoFileExists(t, filepath.Join(dir, "README.md"))
	return dir
}

func copied(t *testing.T, from, to string, names []string) {
	t.Helper()
	for _, name := range names {
		source := filepath.Join(from, name)
		info, err := os.Stat(source)
		require.NoError(t, err)
		if !info.IsDir() {
			copyFile(t, source, filepath.Join(to, name))
			continue
		}
		require.NoError(t, filepath.WalkDir(source, func(file string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				rel, _ := filepath.Rel(source, file)
				copyFile(t, file, filepath.Join(to, rel))
			}
			return err
		}))
	}
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Dir(to), 0o755))
	require.NoError(t, os.WriteFile(to, text, 0o644))
}
