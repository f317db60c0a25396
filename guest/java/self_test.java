public class Main {
    public static void main(String[] missing) throws Exception {
        System.out.println(System.getProperty("java.version"));
    }
}
