#pragma once

namespace belljar::zygote {

// Moves the code of the interpreter and its libraries into memory of 2 MiB pages, as far as whole
// ones fit. A fork then passes it on with a few entries; of a file's pages each child has to ask
// the kernel anew. Where that is not allowed, or there are no such pages, nothing changes.
void use_large_pages_for_text();

}  // namespace belljar::zygote
