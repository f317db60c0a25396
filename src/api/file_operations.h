#pragma once

#include "api/operation_table.h"
#include "base/bytes.h"

namespace belljar::api {

// The descriptions of what can be asked about files, without what answers.
[[nodiscard]] Operation list_files_operation();
[[nodiscard]] Operation get_file_operation();
[[nodiscard]] Operation put_file_operation(Bytes limit);
[[nodiscard]] Operation delete_file_operation();
[[nodiscard]] Operation move_file_operation();
[[nodiscard]] Operation sign_file_operation();
[[nodiscard]] Operation upload_files_operation(Bytes limit);
[[nodiscard]] Operation import_files_operation(Bytes limit);
[[nodiscard]] Operation archive_files_operation();
[[nodiscard]] Operation signed_file_operation();

// File, FilePage, FilesWritten, SignedUrl.
void add_file_schemas(OperationTable& table);

}  // namespace belljar::api
