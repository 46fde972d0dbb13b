/* Reads the note that the linker's --build-id left in a shared object:
 *
 *   ELF header ── program headers ── PT_NOTE ── { name "GNU", type 3 } ── the id
 */
#include "runtime/build_id.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NOTES_MAX 4096 /* bytes of a note segment that are looked at; linkers write some hundred */
#define PROGRAM_HEADERS_MAX 64

/* True when all of [offset, offset + size) was read. */
static bool read_at(int file, uint64_t offset, void *out, size_t size) {
  if (offset > INT64_MAX - NOTES_MAX) return false;
  for (size_t done = 0; done < size;) {
    ssize_t count = pread(file, (char *)out + done, size - done, (off_t)(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    done += (size_t)count;
  }
  return true;
}

static void format_hex(const uint8_t *bytes, size_t size, char *out) {
  static const char digits[] = "0123456789abcdef";
  for (size_t i = 0; i < size; i++) {
    out[2 * i] = digits[bytes[i] >> 4];
    out[2 * i + 1] = digits[bytes[i] & 15];
  }
  out[2 * size] = 0;
}

/* Looks for the note (name "GNU", type NT_GNU_BUILD_ID) in the bytes of a note segment. */
static bool find_note(const uint8_t *notes, size_t size, char *out) {
  size_t at = 0;
  Elf64_Nhdr note;
  while (size - at >= sizeof note) {
    memcpy(&note, notes + at, sizeof note);
    at += sizeof note;
    size_t name_size = ((size_t)note.n_namesz + 3) & ~(size_t)3, value_size = ((size_t)note.n_descsz + 3) & ~(size_t)3;
    if (name_size > size - at || note.n_descsz > size - at - name_size) return false;
    const uint8_t *value = notes + at + name_size;
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(notes + at, "GNU", 4) == 0) {
      if (note.n_descsz == 0 || note.n_descsz > (LAZE_BUILD_ID_SIZE - 1) / 2) return false;
      format_hex(value, note.n_descsz, out);
      return true;
    }
    if (value_size > size - at - name_size) return false; /* the last one may lack its padding */
    at += name_size + value_size;
  }
  return false;
}

static laze_status read_notes(int file, const char *path, char *out, laze_error *error) {
  Elf64_Ehdr header;
  if (!read_at(file, 0, &header, sizeof header) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr) || header.e_phnum > PROGRAM_HEADERS_MAX ||
      header.e_phoff > INT64_MAX / 2)
    return laze_fail(error, LAZE_DATA_LOSS, "%s: expected a little-endian ELF64 program or shared library", path);
  for (int i = 0; i < header.e_phnum; i++) {
    Elf64_Phdr segment;
    uint8_t notes[NOTES_MAX];
    if (!read_at(file, header.e_phoff + (uint64_t)i * sizeof segment, &segment, sizeof segment))
      return laze_fail(error, LAZE_DATA_LOSS, "%s: ends before its program headers", path);
    if (segment.p_type != PT_NOTE) continue;
    size_t size = segment.p_filesz < NOTES_MAX ? (size_t)segment.p_filesz : NOTES_MAX;
    if (!read_at(file, segment.p_offset, notes, size))
      return laze_fail(error, LAZE_DATA_LOSS, "%s: ends before its notes", path);
    if (find_note(notes, size, out)) return LAZE_OK;
  }
  return laze_fail(error, LAZE_NOT_FOUND, "%s: has no build id; link it with -Wl,--build-id", path);
}

laze_status laze_build_id_read(const char *path, char out[LAZE_BUILD_ID_SIZE], laze_error *error) {
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* never waits for the writer of a pipe */
  if (file < 0) return laze_fail(error, LAZE_NOT_FOUND, "%s: cannot be opened (%s)", path, strerror(errno));
  laze_status status = read_notes(file, path, out, error);
  close(file);
  return status;
}
