package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"acme/note/purlin"
)

// folder is where the notes are. Tests have another.
var folder = "/notes"

// path is where a note lies.
func path(title string) string { return filepath.Join(folder, title+".md") }

// beside is where a note is written before it takes its place.
func beside(title string) string { return filepath.Join(folder, "."+title+".tmp") }

// readNote returns what is in a note, nil where there is no such note.
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

// writeNote writes a note whole or not at all, even if this is killed.
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

// removeNote removes a note; one that is gone already is fine.
func removeNote(title string) error {
	if err := granted(); err != nil {
		return err
	}
	// What an interrupted attempt may have left.
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
