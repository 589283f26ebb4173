package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"purlin.dev/purlin"
)

// folder contains the notes. Tests use another one.
var folder = "/notes"

// path returns the path of a note.
func path(title string) string { return filepath.Join(folder, title+".md") }

// beside returns the path of a note that is being written.
func beside(title string) string { return filepath.Join(folder, "."+title+".tmp") }

// readNote returns the content of a note, or nil if it does not exist.
func readNote(title string) (*string, error) {
	if err := granted(); err != nil {
		return nil, err
	}
	bytes, err := os.ReadFile(path(title))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	content := string(bytes)
	return &content, failed(title, "read", err)
}

// writeNote writes a note completely or not at all, even if the process is killed.
func writeNote(title, content string) error {
	if err := granted(); err != nil {
		return err
	}
	err := os.WriteFile(beside(title), []byte(content), 0o644)
	if err == nil {
		err = os.Rename(beside(title), path(title))
	}
	return failed(title, "write", err)
}

// removeNote removes a note; a missing one is fine.
func removeNote(title string) error {
	if err := granted(); err != nil {
		return err
	}
	// Possible remains of an interrupted attempt.
	_ = os.Remove(beside(title))
	err := os.Remove(path(title))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return failed(title, "remove", err)
}

func granted() error {
	if found, err := os.Stat(folder); err == nil && found.IsDir() {
		return nil
	}
	return purlin.Denied{Capability: "dirs", Target: "/notes", Message: "notes are kept in this folder"}
}

func failed(title, what string, err error) error {
	if err == nil {
		return nil
	}
	err = fmt.Errorf("cannot %s the note `%s`: %w", what, title, err)
	if errors.Is(err, fs.ErrPermission) {
		return purlin.Denied{Capability: "dirs", Target: "/notes", Message: err.Error()}
	}
	return err
}
